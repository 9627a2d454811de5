/*
 * restore_state.h
 *		One restore, and how far it is.
 */
#ifndef RESTORE_STATE_H
#define RESTORE_STATE_H

#include "base/fe_compat.h"

#include "load/restore_journal_open.h"
#include "load/restore_stage.h"
#include "restore/restore_worker.h"
#include "status/load_account.h"

/* Exit callbacks and workers use it until the process ends. */
typedef struct Restore
{
	Options		options;		/* the user's, and what follows from what is
								 * restored */
	Archive    *archive;
	ArchivePlan *plan;
	int		   *ids;			/* of the entries that are restored */
	int			n_ids;
	Target		target;
	Run			run;
	RestoreWork work;
	const char *new_name;		/* of the database to create, or NULL */
	RestoreStages stages;
	LoadAccount account;
	volatile int *n_errors;		/* in shared memory */
	RestoreJournalRestore identity; /* of this restore, for its log */
	RestoreJournal *log;		/* NULL until it is open */
	int			n_noted;		/* errors that are in the log */
} Restore;

/*
 * Has a run before done this stage (restore_journal.h)? Then its errors count
 * here, too.
 */
extern bool restore_state_is_done(Restore *restore, const char *stage);

/* It is done, with the errors since the stage before it. */
extern void restore_state_note_done(Restore *restore, const char *stage);

/*
 * The leader's sessions, which have had nothing to do for hours maybe, are
 * there again; exits with a message if that cannot be had.
 */
extern void restore_state_renew(Restore *restore);

#endif							/* RESTORE_STATE_H */

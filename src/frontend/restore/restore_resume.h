/*
 * restore_resume.h
 *		What runs before have done of a restore.
 */
#ifndef RESTORE_RESUME_H
#define RESTORE_RESUME_H

#include "load/restore_journal_open.h"
#include "restore/restore_worker.h"
#include "status/load_account.h"

/* ----------
 * One restore, and how far it is.
 * ----------
 */

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
	RestoreJournal *journal;	/* NULL until it is open */
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

/* ----------
 * Tables and sequences of the target that a crash empties.
 *
 * The log of the restore tells whether the server has crashed
 * (restore_journal.h).  A crash ends all sessions, and each new worker
 * looks.  So no row is loaded into an unlogged table after a crash, and
 * --resume loads these tables as if they had not been begun.
 * ----------
 */

/*
 * In the session's transaction, when the target has its tables, and before
 * rows are loaded: note which of the tables are unlogged.
 */
extern void restore_unlogged_note(const RestoreWork *work, PGconn *conn);

/*
 * A run before has noted that: if the server has crashed since, remove the
 * lines of these tables, and of what is made of their rows, from the log.
 * Exits with a message if that cannot be, or if rows would be loaded again
 * where triggers are by now.
 */
extern void restore_unlogged_resume(Restore *restore);

/*
 * Exits with a message if the target has crashed, and has unlogged tables or,
 * at the end, sequences.  A check_crash() of RestoreJournal, with a
 * RestoreWork; and in the leader after the rows, with sessions renewed.
 */
extern void restore_unlogged_check(const void *work, PGconn *conn,
								   bool at_end);

/*
 * What decides what is restored, and in which pieces, of the entries with
 * these dump IDs; owned.
 */
extern char *restore_resume_selection(const Options *options, const int *ids,
									  int n_ids);

/*
 * A run before has done some of it, or left it out: then so does this one.
 * Exits with a message if a file that it has begun in pieces is to be loaded
 * as a whole.
 */
extern void restore_resume_skip(const RestoreWork *work);

/*
 * Indexes, and constraints that have one, which runs before have built: they
 * are left out of the schedule.
 */
extern void restore_resume_skip_indexes(const RestoreWork *work,
										RestoreSchedule *schedule);

/*
 * Note which rows --no-data-for-failed-tables leaves out, in the session's
 * transaction.
 */
extern void restore_resume_note_left_out(const RestoreWork *work,
										 PGconn *conn);

#endif							/* RESTORE_RESUME_H */

/*
 * restore_resume.h
 *		The state of a restore, and the work that earlier runs have done, for
 *		--resume.
 *
 * A restore notes in a journal on the target what it has done
 * (load/restore_journal.h).  A run with --resume reads the journal, and takes
 * finished work out of its plan.
 */
#ifndef RESTORE_RESUME_H
#define RESTORE_RESUME_H

#include "load/restore_journal_open.h"
#include "restore/restore_worker.h"
#include "status/load_account.h"

/* ----------
 * The state of one restore.
 * ----------
 */

/*
 * It exists until the process ends, because exit callbacks and workers use
 * it.
 */
typedef struct Restore
{
	Options		options;		/* the user's, and those that the contents of
								 * the archive imply */
	Archive    *archive;
	ArchivePlan *plan;
	int		   *ids;			/* dump IDs of the restored entries */
	int			n_ids;
	Target		target;
	Run			run;
	RestoreWork work;
	const char *new_name;		/* of the database to create, or NULL */
	RestoreStages stages;
	LoadAccount account;
	volatile int *n_errors;		/* in shared memory */
	RestoreJournalRestore identity; /* of this restore, for its journal */
	RestoreJournal *journal;	/* NULL until it is open */
	int			n_noted;		/* errors that lines of the journal contain */
} Restore;

/*
 * Has an earlier run finished this stage (restore_journal.h)?  If so, the
 * errors of that stage are added to the count of this run.
 */
extern bool restore_state_is_done(Restore *restore, const char *stage);

/*
 * Note in the journal that this stage is done, and how many errors occurred
 * since the previous stage.
 */
extern void restore_state_note_done(Restore *restore, const char *stage);

/*
 * Open the leader's sessions again if they were lost, because they may have
 * been idle for hours while workers loaded rows.  Exits with a message if the
 * target cannot be reached within the limits of --retries.
 */
extern void restore_state_renew(Restore *restore);

/* ----------
 * Unlogged tables and sequences of the target, which a crash resets.
 *
 * The journal of the restore shows whether the server has crashed
 * (restore_journal.h).  A crash ends all sessions, and each new worker checks
 * the journal.  So no row is loaded into an unlogged table after a crash, and
 * --resume loads these tables as if they had not been begun.
 * ----------
 */

/*
 * Note which of the tables are unlogged, in the current transaction of the
 * session.  Call this after the tables were created, and before rows are
 * loaded.
 */
extern void restore_unlogged_note(const RestoreWork *work, PGconn *conn);

/*
 * For --resume, after an earlier run called restore_unlogged_note(): if the
 * server has crashed since then, remove from the journal the lines of these
 * tables and of the objects that are made from their rows.  Exits with a
 * message if that is impossible, or if the rows would be loaded again while
 * the tables already have triggers, which would fire.
 */
extern void restore_unlogged_resume(Restore *restore);

/*
 * Exits with a message if the target has crashed, and has unlogged tables or,
 * at_end or if an earlier run has set their positions, unlogged sequences.
 * It is a check_crash() callback of RestoreJournal, whose first argument is a
 * RestoreWork.  The leader also calls it after the rows, with renewed
 * sessions.
 */
extern void restore_unlogged_check(const void *work, PGconn *conn,
								   bool at_end);

/*
 * A text of the dump IDs and of all options that decide how these entries are
 * restored, and in which pieces; owned.  --resume refuses to continue a
 * restore whose text differs.
 */
extern char *restore_resume_selection(const Options *options, const int *ids,
									  int n_ids);

/*
 * Take out of the plan the rows that earlier runs have loaded, or have left
 * out.  Exits with a message if a file that an earlier run has begun in
 * pieces must now be loaded as a whole.
 */
extern void restore_resume_skip(const RestoreWork *work);

/*
 * Take out of the schedule the indexes, and the constraints with an index,
 * that earlier runs have built.
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

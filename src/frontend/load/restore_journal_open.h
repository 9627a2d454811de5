/*
 * restore_journal_open.h
 *		Begins the journal of a restore, continues the journal of an earlier
 *		run, and removes it.
 */
#ifndef RESTORE_JOURNAL_OPEN_H
#define RESTORE_JOURNAL_OPEN_H

#include "load/restore_journal.h"
#include "load/restore_schedule.h"
#include "load/target.h"

/* ----------
 * The lock that keeps two runs apart.
 * ----------
 */
typedef enum RestoreJournalLock
{
	RESTORE_JOURNAL_LOCKED,
	RESTORE_JOURNAL_HELD,		/* by another run */
	RESTORE_JOURNAL_GONE		/* there is no such view */
} RestoreJournalLock;

/*
 * Try to lock this view, without waiting.  If it was locked, the session is
 * in a transaction, and the end of the transaction unlocks the view.
 */
extern RestoreJournalLock restore_journal_lock_view(PGconn *conn, const char *view);

/*
 * The same, but wait up to ten seconds for a run that was killed, because the
 * server holds its lock until it has noticed the end of its processes.
 */
extern RestoreJournalLock restore_journal_lock_view_wait(PGconn *conn, const char *view);

/* ----------
 * The sessions of a restore's leader, which may be lost while workers load
 * rows.
 * ----------
 */

/*
 * Check the session that has the lock.  If it is lost, connect again, lock
 * the journal again, and return true.  Calls session_lost() if that fails and
 * may be retried.  Exits with a message if another run has locked the journal
 * in the meantime.
 */
extern bool restore_journal_session_keep(RestoreJournal *journal, const Target *target);

/*
 * Do some work within session_try(), and retry it after each lost session,
 * with the usual waits.  Exits with a message if sessions were lost more than
 * --retries times in a row.
 */
extern void restore_journal_session_insist(void (*work) (void *arg), void *arg,
										   const Options *options);

/* ----------
 * Is it the same restore?
 * ----------
 */

/* Return a checksum of these numbers, as a text; owned. */
extern char *restore_journal_numbers(const int *numbers, int n);

/*
 * What must be the same in all runs that share a journal.  Messages show the
 * texts.
 */
typedef struct RestoreJournalRestore
{
	const char *archive;		/* see archive_identity() */
	const char *selection;		/* the selected entries, and the pieces into
								 * which their rows are divided */
	bool		has_crcs;		/* see RestoreJournal */
} RestoreJournalRestore;

/*
 * An archive may contain the journal of another restore, if its database was
 * dumped while that restore was running.  Leave out the journal's schema.
 * Exit with a message if the archive also contains the journal's tables,
 * because their rows would be mistaken for those of this run.
 */
extern void restore_journal_refuse(RestoreSchedule *schedule);

/*
 * Open the journal: keep other runs out of the database, while this process
 * or one of its children lives, and begin the journal.  The target is in the
 * state of target_begin(), and nothing was created there yet.  If an earlier
 * run has left a journal, options->resume continues it, and options->clean
 * replaces it.  If the role cannot create a schema, the journal is not kept,
 * and there is a warning.
 *
 * Exits with a message if another run is restoring, or if it has ended while
 * this one waited for it; if there is nothing to resume, or if another
 * archive or selection was restored; and if the journal belongs to another
 * role.
 */
extern RestoreJournal *restore_journal_open(const Target *target,
											const RestoreJournalRestore *restore);

/*
 * Does the database of the session contain a journal, of any role?  The
 * session need not have the role of --role yet.
 */
extern bool restore_journal_exists(PGconn *conn);

/*
 * Exit with a message if the schema of a journal, or of the notes about all
 * databases, exists and belongs to another role, or has other contents.
 */
extern void restore_journal_check_schema(PGconn *conn, const char *schema,
										 const RestoreJournalLook *look);

/*
 * Exit with a message if the session's database contains an unfinished
 * restore: rows that are loaded without its journal could be loaded twice.
 */
extern void restore_journal_refuse_unfinished(PGconn *conn, const Options *options);

/*
 * In the session's transaction: remove the lines with these names and of
 * their pieces, and the lines with the names in "failed" that have errors.
 * Also marks the journal (restore_journal_mark()).
 */
extern void restore_journal_forget(const RestoreJournal *journal, PGconn *conn,
								   char *const *names, int n_names,
								   char *const *failed, int n_failed);

/*
 * Read the lines of earlier runs into the journal, with a session that is not
 * in a transaction.
 */
extern void restore_journal_read(RestoreJournal *journal, PGconn *conn);

/*
 * At the end of the restore, remove the journal from the target.  Then, in
 * the same transaction, call then(), for changes that become visible only
 * when the restore is complete.  It may be NULL, and is not called if the
 * journal is not kept.  Lost sessions are retried, at most --retries times in
 * a row.  Waits for other sessions that read the journal, and reports them.
 * If the journal cannot be dropped, for example because of an event trigger,
 * there is a warning.  Afterwards, signals cancel the statement of the
 * target's own session.
 */
extern void restore_journal_end(RestoreJournal *journal, Target *target,
								void (*then) (void *arg, PGconn *conn), void *arg);

/* ----------
 * A restore of all databases also records the end of each database's restore
 * (cluster/cluster_notes.h).
 * ----------
 */

/*
 * Record the end of the restore into this database, and the number of ignored
 * errors.  This is called before the journal is removed, and, with is_done,
 * after that.
 */
typedef void (*RestoreJournalNote) (void *arg, Oid database, bool is_done,
									int errors);

/* Set the function, in the process of this restore and before it begins. */
extern void restore_journal_set_note(RestoreJournalNote note, void *arg);

/*
 * Call the function, if one was set, again after a lost session.  Afterwards,
 * signals cancel the statement of the target's own session.
 */
extern void restore_journal_note(Target *target, bool is_done, int errors);

#endif							/* RESTORE_JOURNAL_OPEN_H */

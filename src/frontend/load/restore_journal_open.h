/*
 * restore_journal_open.h
 *		Begins the journal of a restore, continues the journal of an earlier
 *		run, and removes it.
 */
#ifndef RESTORE_JOURNAL_OPEN_H
#define RESTORE_JOURNAL_OPEN_H

#include "archive/archive_open.h"
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
 * Lock this view at once, or not.  When it is locked the session is in a
 * transaction, whose end unlocks it.
 */
extern RestoreJournalLock restore_journal_lock_view(PGconn *conn, const char *view);

/*
 * The same, but wait a moment for a run that was killed: it holds its lock
 * until its processes are gone.
 */
extern RestoreJournalLock restore_journal_lock_view_wait(PGconn *conn, const char *view);

/* ----------
 * The sessions of a restore's leader, which may be lost while others
 * work.
 * ----------
 */

/*
 * While others work: if the session that has the lock is lost, connect again,
 * and keep other runs away again; then true.  Ends by session_lost() if that
 * cannot be done at this time.  Exits with a message if another run has come
 * in between.
 */
extern bool restore_journal_session_keep(RestoreJournal *journal, const Target *target);

/*
 * Do some work within session_try() until it is done, with the waits between
 * retries.  Exits with a message if a session was lost --retries times in a
 * row.
 */
extern void restore_journal_session_insist(void (*work) (void *arg), void *arg,
										   const Options *options);

/* ----------
 * Is it the same archive?
 * ----------
 */

/*
 * A text that is another one if the archive is; owned.  One with a manifest
 * is told by that and the table of contents, which may be elsewhere the next
 * time; another directory by its table of contents and its files' names,
 * sizes and times, or if commands return its files, by its table of contents
 * alone; and a file in the custom format by its table of contents, size and
 * time.  Exits with a message if it cannot be read.
 */
extern char *restore_journal_archive(const Archive *archive);

/* The same of a list of numbers. */
extern char *restore_journal_numbers(const int *numbers, int n);

/*
 * What must be the same in all runs that share a log; texts for messages.
 */
typedef struct RestoreJournalRestore
{
	const char *archive;		/* see restore_journal_archive() */
	const char *selection;		/* what of it is restored, in which pieces */
	bool		has_crcs;		/* see RestoreJournal */
} RestoreJournalRestore;

/*
 * The archive may be of a database into which a restore was under way, which
 * has that one's log: its schema is left out, and its tables, whose rows
 * would be taken for this run's, are refused.
 */
extern void restore_journal_refuse(RestoreSchedule *schedule);

/*
 * On the target, in the state of target_begin(), before anything is made
 * there: keep other runs away from the database, as long as this process and
 * those that it forks live, and begin the log.  If there is one of a run that
 * is not complete, options->resume continues it, and options->clean begins
 * again.  A role that may make no schema gets a log that is not kept, and a
 * warning.
 *
 * Exits with a message if another run is at work, or came to its end while
 * this one waited for it to be gone, if there is nothing to
 * resume, or something else than this restore, or if the log is not this
 * role's.
 */
extern RestoreJournal *restore_journal_open(const Target *target,
											const RestoreJournalRestore *restore);

/*
 * Does the database of the session have a log, of any role's?  For a session
 * that may not have the role of --role yet.
 */
extern bool restore_journal_exists(PGconn *conn);

/*
 * Refuse a target in whose database a restore is not complete: what is loaded
 * there without a log would be there twice.
 */
extern void restore_journal_refuse_unfinished(PGconn *conn, const Options *options);

/*
 * In the session's transaction: remove the lines with these names, and with
 * names of pieces of them, and those of the failed ones that have errors; and
 * mark the log (restore_journal_mark()).
 */
extern void restore_journal_forget(const RestoreJournal *journal, PGconn *conn,
								   char *const *names, int n_names,
								   char *const *failed, int n_failed);

/* Read the lines that runs before have left, by a session without one. */
extern void restore_journal_read(RestoreJournal *journal, PGconn *conn);

/*
 * All is done: remove the log from the target, and free it.  In the same
 * transaction, after the log is dropped, then() runs what is to be seen only
 * with all else; it may be NULL, and is not called if the log is not kept.
 * If a session is lost meanwhile that is tried again, as often as --retries
 * allow.  Other sessions that read the log are waited for, and reported.  If
 * the log cannot be dropped, as by an event trigger of the target, that is a
 * warning.  The statement that signals cancel is the target's own session's
 * afterwards.
 */
extern void restore_journal_end(RestoreJournal *journal, Target *target,
								void (*then) (void *arg, PGconn *conn), void *arg);

/* ----------
 * The end of a restore that is one of several is noted elsewhere, too.
 * ----------
 */

/*
 * Note the end of the restore into this database, with the errors that were
 * passed over: before the log is removed, or, if it is done, afterwards.
 */
typedef void (*RestoreJournalNote) (void *arg, Oid database, bool is_done,
									int errors);

/* In the process of this restore, before it begins. */
extern void restore_journal_set_note(RestoreJournalNote note, void *arg);

/*
 * Have that noted, if it is wanted; a lost session is a retry.  The statement
 * that signals cancel is the target's own session's afterwards.
 */
extern void restore_journal_note(Target *target, bool is_done, int errors);

#endif							/* RESTORE_JOURNAL_OPEN_H */

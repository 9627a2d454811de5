/*
 * restore_journal_lock.h
 *		Keeps two runs from restoring into one database.
 *
 * A run holds a lock on a view of the log, in a transaction of a session that
 * does nothing else: only the log's owner, roles that may act as that role,
 * and superusers can have that lock.  An advisory lock anybody could have who
 * may connect.  It is a view, as a VACUUM or ANALYZE of the whole database
 * would wait for a table; and of a kind for which the transaction needs
 * neither a snapshot nor an ID, and so holds up no cleaning either.
 *
 * Where a role may make no schema there is no log, and no relation of its own
 * to lock.  What keeps its runs apart is an advisory lock, after all.
 */
#ifndef RESTORE_JOURNAL_LOCK_H
#define RESTORE_JOURNAL_LOCK_H

#include "load/restore_journal.h"
#include "load/target.h"

/* What make_commands of a log make for it. */
#define JOB_LOG_LOCK_VIEW JOB_LOG_SCHEMA ".running"

typedef enum RestoreJournalLock
{
	JOB_LOG_LOCKED,
	JOB_LOG_HELD,				/* by another run */
	JOB_LOG_GONE				/* there is no log */
} RestoreJournalLock;

/*
 * Lock the log at once, or not.  When it is locked the session is in a
 * transaction, whose end unlocks it.
 */
extern RestoreJournalLock restore_journal_lock_try(PGconn *conn);

/* The same; exits with a message while another run is at work. */
extern RestoreJournalLock restore_journal_lock(PGconn *conn);

/* Both without a log; the session's end unlocks it.  False if it is held. */
extern void restore_journal_lock_database(PGconn *conn);

/*
 * Once there is a log, which the other run looks for when it has that lock:
 * warn if a session holds it.  It may be a run without a log, and may be
 * anybody, who is not to keep this one from its work.
 */
extern void restore_journal_lock_warn(PGconn *conn);

/* Another run is at work. */
pg_noreturn extern void restore_journal_lock_refuse(void);

/* ----------
 * The sessions of a restore's leader, which may be lost while others
 * work.
 * ----------
 */

/* The session that is to have the lock is there: note which one it is. */
extern void restore_journal_session_note(RestoreJournal *log);

/*
 * While others work: if the session that has the lock is lost, connect again,
 * and keep other runs away again; then true.  Ends by session_lost() if that
 * cannot be done at this time.  Exits with a message if another run has come
 * in between.
 */
extern bool restore_journal_session_keep(RestoreJournal *log, const Target *target);

/*
 * Do some work within session_try() until it is done, with the waits between
 * retries.  Exits with a message if a session was lost --retries times in a
 * row.
 */
extern void restore_journal_session_insist(void (*work) (void *arg), void *arg,
										   const Options *options);

#endif							/* RESTORE_JOURNAL_LOCK_H */

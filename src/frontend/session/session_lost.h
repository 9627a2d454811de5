/*
 * session_lost.h
 *		Waits for the server, the rate limit of --max-rate, the causes of
 *		failures, and the handling of lost sessions.
 *
 * A connection may break, or a server end a session, during any statement,
 * deep in any call.  The function that notices this calls session_lost(),
 * which does not return, so that the callers in between need not handle it.
 * Where the run continues depends on what can repeat the work in another
 * session:
 *
 * - A worker's process ends, and leaves no state behind.  The pool removes
 *	 the partial results of the job, and after a delay forks another process,
 *	 which repeats the job (worker_pool.h).
 * - In the leader, within session_try(), control returns to that function.
 *	 Its caller closes the connections, and tries again after a delay.
 * - Elsewhere the work cannot be repeated: the cause is reported as an error,
 *	 which ends the program.
 *
 * source/worker_monitor.c and source/leader_session.c watch waits, and find
 * out when a server does not answer.  leader_session.c also checks the
 * leader's session while it is idle, and replaces it if it is lost.
 *
 * Each delay is longer than the one before, and there are at most --retries
 * of them.
 *
 * A refusal is not a loss.  A worker that cannot get a lock refuses the job.
 * The pool offers the job to other workers later, and finally to the leader,
 * which does it within session_try() and in its own session, which has all
 * locks (worker_pool.c and worker_monitor.c:worker_monitor_run_refused()).
 */
#ifndef SESSION_LOST_H
#define SESSION_LOST_H

#include "libpq-fe.h"

/* ----------
 * Waits for the server, which other processes can observe.
 *
 * Each worker counts its waits in memory that it shares with the leader, so
 * that the leader sees which worker has been waiting for how long, in any
 * call.  The leader watches its own waits: during a wait, it calls the watch
 * at short intervals.
 * ----------
 */

/*
 * The count of a worker's waits, in shared memory.  It is odd while the
 * worker waits for the server.
 */
typedef volatile uint64 WaitCount;

/*
 * In a worker: count waits there from now on.  The leader sends SIGUSR1 to a
 * worker that has waited for too long.  From now on this signal ends the
 * process like session_lost().
 */
extern void session_wait_begin_worker(WaitCount *count);

/*
 * Called at short intervals during a wait, without a limit, for the result of
 * a statement.  came is whether something has arrived.  The function updates
 * *since: the time when the wait began or something last arrived
 * (clock_monotonic_ms()).  It may end the wait with session_lost().
 */
typedef void (*SessionWaitWatch) (PGconn *conn, bool came, int64 *since);

/*
 * Call this function during waits from now on, or none if watch is NULL.
 * Returns the previous one.  Workers begin without a watch.
 */
extern SessionWaitWatch session_wait_set_watch(SessionWaitWatch watch);

/*
 * Called at short intervals while rows of COPY arrive, or do not.  The
 * function keeps the time itself.
 */
typedef void (*SessionRowsWatch) (PGconn *conn, bool came);

/*
 * Call it from now on in this process and in processes that it forks; a
 * worker stops that when it begins.
 */
extern void session_wait_set_rows_watch(SessionRowsWatch watch);

/* Call these before and after every call that may wait for the server. */
extern void session_wait_begins(void);
extern void session_wait_ends(void);

/*
 * Wait a moment until data has arrived, or data can be sent.  Returns false
 * if neither happened.  Call PQconsumeInput() in any case: libpq from before
 * August 2026 may leave bytes in the buffers of TLS, and the socket does not
 * show these (pqReadData).
 */
extern bool session_wait_input(PGconn *conn);

/*
 * Wait for the result of a statement that was sent, like PQexec().  Returns
 * NULL if there is no result after wait_ms; -1 means to wait forever, unless
 * the watch ends the wait.
 */
extern PGresult *session_wait_result(PGconn *conn, int wait_ms);

/* PQgetCopyData(), watched, and limited by --max-rate. */
extern int	session_wait_copy_data(PGconn *conn, char **message);

/* ----------
 * --max-rate: all workers take from one budget in shared memory.
 * ----------
 */

/*
 * Call this in the leader before workers are forked.  max_rate is in bytes
 * per second; 0 means no limit.
 */
extern void session_set_max_rate(uint64 max_rate);

/* Count bytes that have arrived, and sleep as long as --max-rate demands. */
extern void session_take_bytes(size_t bytes);

/* ----------
 * The causes of failures, for messages
 * ----------
 */

/* Is the server a hot standby?  If so, only replay takes exclusive locks. */
extern bool session_is_standby(const PGconn *conn);

/*
 * Did a statement fail because its session has ended, or because of a
 * conflict with replay on a standby, but not because of the statement itself?
 * Only then a new session may repeat the work.  res is the result of the
 * statement, or NULL if there is none.  conn is NULL if it could not be
 * allocated.
 */
extern bool session_is_lost(const PGconn *conn, const PGresult *res);

/*
 * Is the result an error with one of these SQLSTATEs?  They are separated by
 * spaces; two characters stand for a whole class.  res may be NULL.
 */
extern bool session_error_is(const PGresult *res, const char *sqlstates);

/*
 * The message of the error, as libpq formats it.  After a conflict with
 * replay, it has a hint about the settings that prevent the conflict.  res
 * may be NULL, for an error that libpq found itself.  Owned.
 */
extern char *session_error_words(const PGconn *conn, const PGresult *res);

/*
 * End the process after a statement has failed, with a message that begins
 * with problem; or with session_lost() if the session is lost.
 */
pg_noreturn extern void session_failed(PGconn *conn, const PGresult *res,
									   const char *problem, const char *sql);

/*
 * Has the server refused this statement, of which res is the result?  Ends
 * with session_failed() if the session is lost.
 */
extern bool session_refused(PGconn *conn, const PGresult *res,
							const char *sql);

/*
 * Call this before rows of a table with masked columns are read, and with
 * NULL afterwards.  In between, messages do not contain the server's text,
 * which may contain values that are masked, and notices are not shown.
 */
extern void session_withhold(const char *table);
extern bool session_withholds(void);

/*
 * The session is lost, for this cause.  Continues where the work can be
 * repeated, or ends the process.
 */
pg_noreturn extern void session_lost(const char *cause);

/*
 * In the leader: do some work.  Returns NULL when it is done, or the cause
 * (owned) if a session was lost.  Then the caller has to close the
 * connections that the work has opened, and to undo what it has done.  Calls
 * must not be nested.
 */
extern char *session_try(void (*work) (void *arg), void *arg);

#endif							/* SESSION_LOST_H */

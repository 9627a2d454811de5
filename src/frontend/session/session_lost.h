/*
 * session_lost.h
 *		Waits for the server, the rate limit of --max-rate, the causes of
 *		failures, and the handling of lost sessions.
 *
 * A connection may break, and a server end a session, at any statement, deep
 * in any call.  The function that notices calls session_lost(), which does
 * not return, so that nothing in between has to handle it.  Where it
 * continues depends on what can repeat the work in another session:
 *
 * - A worker's process ends, and leaves no state behind.  The pool removes
 *	 the partial results of the job, and after a delay forks another process,
 *	 which repeats the job (worker_pool.h).
 * - In the leader, within session_try(), control returns to that function.
 *	 Its caller closes the connections, and tries again after a delay.
 * - Elsewhere the work cannot be repeated: the cause is reported as an error,
 *	 which ends the program.
 *
 * source/worker_monitor.c and source/leader_session.c find waits for a server
 * that does not answer.  leader_session.c also checks the leader's session
 * while it is idle, and replaces it if it is lost.
 *
 * Each delay is longer than the one before, and there are at most --retries
 * of them.
 *
 * A refusal is not a loss.  A worker that cannot get a lock refuses the job.
 * The pool offers the job to other workers later, and finally to the leader,
 * which does it in its own session, which has all locks, and within
 * session_try() (worker_pool.c and
 * worker_monitor.c:worker_monitor_run_refused()).
 */
#ifndef SESSION_LOST_H
#define SESSION_LOST_H

#include "libpq-fe.h"

/* ----------
 * Waits for the server, which other processes can observe.
 *
 * Each worker counts its waits in memory that it shares with the leader, so
 * that the leader sees which worker has been waiting for how long, in any
 * call.  No other process sees the leader wait: there the wait itself calls
 * the watch at short intervals.
 * ----------
 */

/* A worker's, in shared memory: odd while it waits for the server. */
typedef volatile uint64 WaitCount;

/*
 * In a worker: count waits there from now on.  From then on SIGUSR1, which
 * the leader sends to a worker that has waited for too long, ends the process
 * as session_lost() does.
 */
extern void session_wait_begin_worker(WaitCount *count);

/*
 * Called every moment of a wait without a limit for what a statement returns,
 * with whether something has come, and *since, when the wait began or
 * something came last (clock_monotonic_ms()), which it sets.  It may end the
 * wait by session_lost().
 */
typedef void (*SessionWaitWatch) (PGconn *conn, bool came, int64 *since);

/*
 * From now on it is called so; NULL: no more.  Returns what was before.
 * Workers begin without a watch.
 */
extern SessionWaitWatch session_wait_set_watch(SessionWaitWatch watch);

/* The same for rows of COPY, but that it keeps the time itself. */
typedef void (*SessionRowsWatch) (PGconn *conn, bool came);

/* From now on, in this process and what it forks, until a worker begins. */
extern void session_wait_set_rows_watch(SessionRowsWatch watch);

/* Around every call that may wait for the server. */
extern void session_wait_begins(void);
extern void session_wait_ends(void);

/*
 * A wait of its own until something has come, or what is to be sent can be;
 * false if that is not so after a moment.  Call PQconsumeInput() in any case:
 * a libpq from before August 2026 may leave bytes in the buffers of TLS, of
 * which the socket tells nothing (pqReadData).
 */
extern bool session_wait_input(PGconn *conn);

/*
 * What PQexec() does once it has sent the statement.  NULL if the result is
 * not there after wait_ms; -1 means for ever, unless the watch ends that.
 */
extern PGresult *session_wait_result(PGconn *conn, int wait_ms);

/* PQgetCopyData(), watched, and limited by --max-rate. */
extern int	session_wait_copy_data(PGconn *conn, char **message);

/* ----------
 * --max-rate: all workers together take from one budget in memory they share.
 * ----------
 */

/* In the leader, before workers are forked: bytes a second, 0 = no limit. */
extern void session_set_max_rate(uint64 max_rate);

/* Count bytes that have come, and wait as long as --max-rate demands. */
extern void session_take_bytes(size_t bytes);

/* ----------
 * The causes of failures, for messages
 * ----------
 */

/* Is the server a hot standby?  There only replay takes exclusive locks. */
extern bool session_is_standby(const PGconn *conn);

/*
 * Did a statement fail because its session has ended, or because replay on a
 * standby was in conflict with it, without a fault of the statement's?  This
 * alone decides what a new session may repeat.  res is what the statement
 * returned, or NULL if there is nothing, as conn is if it could not be made.
 */
extern bool session_is_lost(const PGconn *conn, const PGresult *res);

/*
 * Is the result an error with one of these SQLSTATEs?  They are separated by
 * spaces; two characters stand for a whole class.  res may be NULL.
 */
extern bool session_error_is(const PGresult *res, const char *sqlstates);

/*
 * The message of the error, as libpq writes it; if replay was in conflict,
 * with a hint at the settings that prevent this.  res may be NULL, for what
 * libpq found by itself.  Owned.
 */
extern char *session_error_words(const PGconn *conn, const PGresult *res);

/*
 * End the process after a statement has failed, with a message that begins
 * with the problem, or by session_lost() if that is why.
 */
pg_noreturn extern void session_failed(PGconn *conn, const PGresult *res,
									   const char *problem, const char *sql);

/*
 * Has the server refused this statement, of which res is the result?  Ends by
 * session_failed() if the session is lost.
 */
extern bool session_refused(PGconn *conn, const PGresult *res,
							const char *sql);

/*
 * While the rows of this table are read: what the server says may show values
 * that are masked.  Its words are left out of messages then, and its notices
 * are not shown.  NULL ends that.
 */
extern void session_withhold(const char *table);
extern bool session_withholds(void);

/* The session is lost, for this cause: go where that can be mended. */
pg_noreturn extern void session_lost(const char *cause);

/*
 * In the leader: do some work.  Returns NULL when it is done, or the cause
 * (owned) if a session was lost meanwhile: what is left of the work, and the
 * connections it has opened, are the caller's to remove.  Not to be nested.
 */
extern char *session_try(void (*work) (void *arg), void *arg);

#endif							/* SESSION_LOST_H */

/*
 * session_wait.h
 *		Waits for the server, and lets others see that.
 *
 * Each worker counts its waits in memory that it shares with the leader, so
 * that the leader sees which worker has been waiting for how long, in any
 * call.  No other process sees the leader wait: there the wait itself calls
 * the watch at short intervals.
 */
#ifndef SESSION_WAIT_H
#define SESSION_WAIT_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

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

/* From now on it is called so; NULL: no more.  Returns what was before. */
extern SessionWaitWatch session_wait_set_watch(SessionWaitWatch watch);

/*
 * The same for rows of COPY, but that workers begin without it, and it keeps
 * the time itself.
 */
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

/* PQgetCopyData(), watched, and limited by traffic.h. */
extern int	session_wait_copy_data(PGconn *conn, char **message);

#endif							/* SESSION_WAIT_H */

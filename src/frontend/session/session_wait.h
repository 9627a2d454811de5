/*
 * session_wait.h
 *		Waits for what a statement returns.
 */
#ifndef SESSION_WAIT_H
#define SESSION_WAIT_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/*
 * Who looks after waits without a limit: called every moment of one, with
 * whether something has come, and *since, when the wait began or something
 * came last (clock_monotonic_ms()), which it sets.  It may end the wait by
 * session_lost().
 */
typedef void (*SessionWaitWatch) (PGconn *conn, bool came, int64 *since);

extern void session_wait_set_watch(SessionWaitWatch watch);

/*
 * What PQexec() does once it has sent the statement.  NULL if the result is
 * not there after wait_ms.  If that is -1 it waits for ever, as traffic.h
 * counts it, unless whoever watches ends that.
 */
extern PGresult *session_wait_result(PGconn *conn, int wait_ms);

#endif							/* SESSION_WAIT_H */

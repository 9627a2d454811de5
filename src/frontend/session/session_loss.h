/*
 * session_loss.h
 *		Tells the errors that end a session from others.
 */
#ifndef SESSION_LOSS_H
#define SESSION_LOSS_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/* Is the server a hot standby?  There only replay takes exclusive locks. */
extern bool session_is_standby(const PGconn *conn);

/*
 * Did a statement fail because its session has ended, or because replay on a
 * standby was in conflict with it, without a fault of the statement's?  This
 * alone decides what a new session may do anew.  res is what the statement
 * returned, or NULL if there is nothing.
 */
extern bool session_is_lost(const PGconn *conn, const PGresult *res);

/*
 * The message of the error, as libpq writes it; if replay was in conflict,
 * with a hint at the settings that prevent this.  res may be NULL, for what
 * libpq found by itself.  Owned.
 */
extern char *session_error_words(const PGconn *conn, const PGresult *res);

/*
 * End the process after a statement has failed, with a message that begins
 * with the problem; a worker that lost its session by worker_pool_lost().
 */
pg_noreturn extern void session_failed(PGconn *conn, const PGresult *res,
									   const char *problem, const char *sql);

#endif							/* SESSION_LOSS_H */

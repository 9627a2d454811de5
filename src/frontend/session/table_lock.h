/*
 * table_lock.h
 *		Locks tables without waiting in the server's queue of locks.
 *
 * A session that waits for a lock blocks all sessions that come after it,
 * even if these want a lock that the current holder would allow.  A dump must
 * not stop an application in this way, and its own sessions must not block
 * each other.
 */
#ifndef TABLE_LOCK_H
#define TABLE_LOCK_H

#include "libpq-fe.h"

#include "options/options.h"

/*
 * An SQL expression: for how many locks the server's lock table has room,
 * according to its settings.  In fact there is some more room
 * (lock.c:NLOCKENTS).
 */
#define TABLE_LOCK_ROOM_SQL \
"pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int8" \
" OPERATOR(pg_catalog.*) (pg_catalog.current_setting('max_connections')::pg_catalog.int8" \
" OPERATOR(pg_catalog.+) pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int8)"

/*
 * --lock-wait-timeout in milliseconds; the server parses the value, so all of
 * its units are allowed.  The default, also for 0, is five seconds: long
 * enough for sessions that hold a lock for a moment.
 */
extern int	table_lock_wait_ms(PGconn *conn, const Options *options);

/*
 * Lock tables in ACCESS SHARE mode until the end of the transaction or
 * subtransaction.  names are qualified and quoted.  Does not wait in the
 * queue behind a request for an exclusive lock, because that request would
 * wait for other sessions of this run.  Instead, tries again for wait_ms,
 * then exits with a message that names the table.
 */
extern void table_lock_take(PGconn *conn, char *const *names, int n_names,
							int wait_ms);

/*
 * Lock tables in this way, but return the primary message (owned) if a table
 * cannot be locked for any reason.  Tables before it in the list may be
 * locked then.  NULL if all are locked.
 */
extern char *table_lock_attempt(PGconn *conn, char *const *names, int n_names,
								int wait_ms);

/*
 * Lock tables in one statement and without a wait.  Returns false, and locks
 * none, if a table is locked by others.
 */
extern bool table_lock_try(PGconn *conn, char *const *names, int n_names);

#endif							/* TABLE_LOCK_H */

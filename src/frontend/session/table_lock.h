/*
 * table_lock.h
 *		Locks tables without getting in a queue.
 */
#ifndef TABLE_LOCK_H
#define TABLE_LOCK_H

#include "libpq-fe.h"

#include "options/options.h"

/*
 * An expression: how many objects the server's lock table is said to have
 * room for.  There is some more (lock.c:NLOCKENTS).
 */
#define TABLE_LOCK_ROOM_SQL \
"pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int8" \
" OPERATOR(pg_catalog.*) (pg_catalog.current_setting('max_connections')::pg_catalog.int8" \
" OPERATOR(pg_catalog.+) pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int8)"

/*
 * --lock-wait-timeout in milliseconds, with the units that the server knows.
 * Five seconds if it was not given or is 0: long enough for sessions that
 * hold a lock for a moment.
 */
extern int	table_lock_wait_ms(PGconn *conn, const Options *options);

/*
 * Lock tables in ACCESS SHARE mode until the end of the transaction, or of
 * the subtransaction.  names are qualified and quoted.  Does not queue behind
 * a request for an exclusive lock, which would wait for this program's other
 * sessions: tries again for wait_ms, then exits with a message naming the
 * table.
 */
extern void table_lock_take(PGconn *conn, char *const *names, int n_names,
							int wait_ms);

/*
 * The same, but returns the server's message if a table cannot be locked for
 * any reason; those before it may be locked.  NULL if all are; owned.
 */
extern char *table_lock_attempt(PGconn *conn, char *const *names, int n_names,
								int wait_ms);

/*
 * The same all at once and without a wait; false, and none locked, if one is
 * busy.
 */
extern bool table_lock_try(PGconn *conn, char *const *names, int n_names);

#endif							/* TABLE_LOCK_H */

/*
 * backend_query.c
 *		Queries for what the server's processes for our sessions do.
 */
#include "base/fe_compat.h"

#include "session/backend_query.h"
#include "session/session.h"

/* With track_activities = off the state is disabled, but waits are known. */
char *
backend_query_at_work(int backend)
{
	return psprintf(SESSION_FRESH_ACTIVITY "SELECT FROM pg_catalog.pg_stat_activity"
					" WHERE pid OPERATOR(pg_catalog.=) %d"
					" AND state OPERATOR(pg_catalog.=) ANY ('{active,disabled}')"
					" AND COALESCE(wait_event_type, '') OPERATOR(pg_catalog.<>) 'Client'",
					backend);
}

char *
backend_query_terminate(int backend, int min_age_s)
{
	return psprintf(SESSION_FRESH_ACTIVITY "SELECT pg_catalog.pg_terminate_backend(pid)"
					" FROM pg_catalog.pg_stat_activity"
					" WHERE pid OPERATOR(pg_catalog.=) %d"
					" AND usename OPERATOR(pg_catalog.=) SESSION_USER"
					" AND datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
					" AND backend_start OPERATOR(pg_catalog.<) (pg_catalog.clock_timestamp()"
					" OPERATOR(pg_catalog.-) pg_catalog.make_interval(secs => %d))",
					backend, min_age_s);
}

/*
 * Of the others only those without a job keep what they have to the end.  For
 * a standby's replay, which is not a backend, pg_blocking_pids() returns
 * nothing; it waits for ACCESS EXCLUSIVE, so every holder of a lock blocks
 * it.
 */
static const char deadlock_query[] =
SESSION_FRESH_ACTIVITY "WITH RECURSIVE chain (waiter, first, blocker) AS ("
"SELECT w.pid, b.pid, b.pid FROM pg_catalog.unnest('{%s}'::pg_catalog.int4[]) w (pid),"
" pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) b (pid)"
" UNION SELECT c.waiter, c.first, b.pid FROM chain c,"
" pg_catalog.unnest(pg_catalog.pg_blocking_pids(c.blocker) OPERATOR(pg_catalog.||)"
" ARRAY(SELECT h.pid FROM pg_catalog.pg_locks w JOIN pg_catalog.pg_locks h"
" ON h.database OPERATOR(pg_catalog.=) w.database"
" AND h.relation OPERATOR(pg_catalog.=) w.relation AND h.granted"
" WHERE w.pid OPERATOR(pg_catalog.=) c.blocker AND NOT w.granted"
" AND w.mode OPERATOR(pg_catalog.=) 'AccessExclusiveLock'"
" AND h.pid OPERATOR(pg_catalog.<>) w.pid)) b (pid))"
" SELECT l.relation::pg_catalog.regclass, c.first FROM chain c"
" JOIN pg_catalog.pg_locks l ON l.pid OPERATOR(pg_catalog.=) c.waiter AND NOT l.granted"
" LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) c.blocker"
" WHERE c.blocker OPERATOR(pg_catalog.=) %s"
" OR c.blocker OPERATOR(pg_catalog.=) ANY ('{%s}'::pg_catalog.int4[])"
" AND a.state OPERATOR(pg_catalog.=) 'idle in transaction'";

char *
backend_query_deadlock(const char *backends, const char *leader)
{
	return psprintf(deadlock_query, backends, leader, backends);
}

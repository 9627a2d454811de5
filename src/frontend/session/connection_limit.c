/*
 * connection_limit.c
 *		How many more connections a server has for us.
 */
#include "base/fe_compat.h"

#include "base/units.h"
#include "session/connection_limit.h"

/* pg_stat_activity.backend_type came with 10. */
#define MIN_VERSION_WITH_BACKEND_TYPE 100000

/*
 * The smallest number of connections that a limit leaves: max_connections
 * less what is reserved for others (miscinit.c:InitPostgres), the role's,
 * and, if %s is true, the database's.  First by the sessions that are surely
 * clients; then also by those of which the role may not see what they are,
 * but which have a user and a database: most are clients.
 */
static const char left_expression[] =
"(WITH reserved (n) AS (SELECT COALESCE(pg_catalog.sum(s.setting::pg_catalog.int4), 0)"
" FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) 'superuser_reserved_connections'"
" OR s.name OPERATOR(pg_catalog.=) 'reserved_connections' AND NOT EXISTS"
" (SELECT FROM pg_catalog.pg_roles p"
" WHERE p.rolname OPERATOR(pg_catalog.=) 'pg_use_reserved_connections'"
" AND pg_catalog.pg_has_role(session_user, p.oid, 'USAGE')))"
" SELECT pg_catalog.array_agg(LEAST(pg_catalog.current_setting('max_connections')::pg_catalog.int4"
" OPERATOR(pg_catalog.-) CASE WHEN r.rolsuper THEN 0 ELSE (SELECT n FROM reserved) END"
" OPERATOR(pg_catalog.-) used.n,"
" CASE WHEN r.rolconnlimit OPERATOR(pg_catalog.>=) 0 AND NOT r.rolsuper"
" THEN r.rolconnlimit OPERATOR(pg_catalog.-) used.of_role END,"
" CASE WHEN %s AND d.datconnlimit OPERATOR(pg_catalog.>=) 0 AND NOT r.rolsuper"
" THEN d.datconnlimit OPERATOR(pg_catalog.-) used.of_database END) ORDER BY hidden.counted)"
" FROM pg_catalog.pg_roles r, pg_catalog.pg_database d,"
" (VALUES (false), (true)) hidden (counted), LATERAL (SELECT pg_catalog.count(*) AS n,"
" pg_catalog.count(*) FILTER (WHERE a.usename OPERATOR(pg_catalog.=) r.rolname) AS of_role,"
" pg_catalog.count(*) FILTER (WHERE a.datname OPERATOR(pg_catalog.=) d.datname) AS of_database"
" FROM pg_catalog.pg_stat_activity a"
" WHERE a.backend_type OPERATOR(pg_catalog.=) 'client backend' OR hidden.counted"
" AND a.backend_type IS NULL AND a.usename IS NOT NULL AND a.datname IS NOT NULL) used"
" WHERE r.rolname OPERATOR(pg_catalog.=) session_user"
" AND d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())";

char *
connection_limit_expression(PGconn *conn, bool of_database)
{
	if (PQserverVersion(conn) < MIN_VERSION_WITH_BACKEND_TYPE)
		return pg_strdup("NULL");
	return psprintf(left_expression, of_database ? "true" : "false");
}

/* A role that was dropped meanwhile has no limit. */
ConnectionsLeft
connection_limit_read(const PGresult *res, int column)
{
	ConnectionsLeft left = {PG_INT32_MAX, PG_INT32_MAX};
	int			n = 0;
	int64	   *numbers;

	if (PQgetisnull(res, 0, column))
		return left;
	numbers = session_numbers(res, column, &n);
	if (numbers && n == 2)
	{
		left.at_most = (int) Min(Max(numbers[0], 0), PG_INT32_MAX);
		left.at_least = (int) Min(Max(numbers[1], 0), PG_INT32_MAX);
	}
	free(numbers);
	return left;
}

ConnectionsLeft
connection_limit_left(PGconn *conn, bool of_database)
{
	char	   *expression = connection_limit_expression(conn, of_database);
	char	   *sql = psprintf("SELECT %s", expression);
	PGresult   *res = session_query(conn, sql);
	ConnectionsLeft left = connection_limit_read(res, 0);

	PQclear(res);
	free(sql);
	free(expression);
	return left;
}

void
connection_limit_check_tasks(PGconn *conn, const char *server, int n_tasks,
							 int n_sessions)
{
	int			left = connection_limit_left(conn, true).at_most;

	if (left >= n_sessions)
		return;
	pg_log_warning("%s has %d connection%s left, and %d task%s at a time need%s %d or more",
				   server, left, units_plural(left), n_tasks, units_plural(n_tasks),
				   n_tasks == 1 ? "s" : "", n_sessions);
	pg_log_warning_hint("A task that gets none ends with exit code 75, to be run again: have fewer run at a time, or raise max_connections or the limit of the role or database.");
}

void
connection_limit_check_workers(PGconn *conn, int n_workers)
{
	int			left = connection_limit_left(conn, true).at_most;

	if (left >= n_workers)
		return;
	pg_log_warning("the server has %d connection%s left, and this task has %d worker%s",
				   left, units_plural(left), n_workers, units_plural(n_workers));
	pg_log_warning_hint("Use fewer --jobs, have fewer tasks run at a time, or raise max_connections or the limit of the role or database.");
}

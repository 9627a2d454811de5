/*
 * source_check.c
 *		Looks for what would end a run while it reads, when its plan is made.
 */
#include "fe_compat.h"

#include "fe_utils/string_utils.h"

#include "printable.h"
#include "source_check.h"
#include "units.h"

/* Names of tables, and OIDs, in a message. */
#define NAMES_SHOWN 10
#define OBJECTS_SHOWN "5"

/* ----------
 * Row security
 * ----------
 */

/*
 * COPY of such a table is an error as long as row_security is off, and with it
 * on it reads what the role may see only (rls.c:check_enable_rls).
 */
static void
check_row_security(const DumpContext *context)
{
	const DumpTables *tables = context->tables;
	PQExpBufferData names;
	int			n_found = 0;

	if (context->options->enable_row_security)
		return;
	initPQExpBuffer(&names);
	for (int i = 0; i < tables->n_tables; i++)
	{
		if (!tables->tables[i].row_security)
			continue;
		if (n_found++ < NAMES_SHOWN)
			appendPQExpBuffer(&names, "%s%s", n_found > 1 ? ", " : "",
							  printable(tables->tables[i].name));
	}
	if (n_found > 0)
	{
		pg_log_error("row security keeps the role from reading all rows of %d table%s",
					 n_found, units_plural(n_found));
		pg_log_error_detail("%s: %s%s.", n_found > 1 ? "These are" : "It is",
							names.data, n_found > NAMES_SHOWN ? ", ..." : "");
		pg_log_error_hint("ALTER ROLE ... BYPASSRLS lets a role read them; --enable-row-security dumps only the rows that it may see.");
	}
	termPQExpBuffer(&names);
}

/* ----------
 * Large objects
 * ----------
 */

/*
 * As lo_open() decides for the current user (inv_api.c:inv_open,
 * aclchk.c:pg_largeobject_aclmask_snapshot), %s being what it may read.
 */
static const char unreadable_query[] =
"WITH unreadable AS (SELECT m.oid FROM pg_catalog.pg_largeobject_metadata m"
" WHERE pg_catalog.current_setting('lo_compat_privileges') OPERATOR(pg_catalog.=) 'off'"
" AND NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles r"
" WHERE r.rolname OPERATOR(pg_catalog.=) current_user)"
" AND NOT (%s))"
" SELECT pg_catalog.count(*), (SELECT pg_catalog.string_agg(f.oid::pg_catalog.text, ', ')"
" FROM (SELECT u.oid FROM unreadable u ORDER BY u.oid LIMIT " OBJECTS_SHOWN ") f),"
" current_user FROM unreadable";

/* From 18 on; it knows of pg_read_all_data, which from 19 on covers them. */
static const char by_function[] =
"pg_catalog.has_largeobject_privilege(m.oid, 'SELECT')";

static const char by_acl[] =
"EXISTS (SELECT FROM pg_catalog.aclexplode(COALESCE(m.lomacl,"
" pg_catalog.acldefault('L', m.lomowner))) a"
" WHERE a.privilege_type OPERATOR(pg_catalog.=) 'SELECT'"
" AND (a.grantee OPERATOR(pg_catalog.=) 0 OR pg_catalog.pg_has_role(a.grantee, 'USAGE')))";

static bool
has_function(PGconn *conn)
{
	PGresult   *res = session_query(conn,
									"SELECT pg_catalog.to_regprocedure('pg_catalog.has_largeobject_privilege(oid,text)') IS NOT NULL");
	bool		result = PQgetvalue(res, 0, 0)[0] == 't';

	PQclear(res);
	return result;
}

/* A statement for psql: the server quotes what it makes of it. */
static void
hint_at_grant(PGconn *conn, const char *role)
{
	PQExpBufferData sql;

	initPQExpBuffer(&sql);
	appendPQExpBufferStr(&sql, "SELECT format('GRANT SELECT ON LARGE OBJECT %s TO %I', oid, ");
	appendStringLiteralConn(&sql, role, conn);
	appendPQExpBufferStr(&sql, ") FROM pg_largeobject_metadata \\gexec");
	pg_log_error_hint("In psql, as a superuser: %s; or dump none, by --no-large-objects.",
					  sql.data);
	termPQExpBuffer(&sql);
}

/* A dump has all of the database's large objects, or none. */
static void
check_large_objects(PGconn *conn, const DumpContext *context)
{
	char	   *sql;
	PGresult   *res;

	if (context->objects->n_objects == 0)
		return;
	sql = psprintf(unreadable_query, has_function(conn) ? by_function : by_acl);
	res = session_query(conn, sql);
	if (atoll(PQgetvalue(res, 0, 0)) > 0)
	{
		bool		one = atoll(PQgetvalue(res, 0, 0)) == 1;

		pg_log_error("the role \"%s\" may not read %s of the %d large object%s",
					 PQgetvalue(res, 0, 2), PQgetvalue(res, 0, 0),
					 context->objects->n_objects,
					 units_plural(context->objects->n_objects));
		pg_log_error_detail("%s: %s.", one ? "It is" : "The first are",
							PQgetvalue(res, 0, 1));
		hint_at_grant(conn, PQgetvalue(res, 0, 2));
	}
	PQclear(res);
	free(sql);
}

void
source_check(PGconn *conn, const DumpContext *context)
{
	check_row_security(context);
	check_large_objects(conn, context);
}

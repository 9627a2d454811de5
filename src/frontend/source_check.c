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

/* ----------
 * Tables that pg_dump cannot lock
 * ----------
 */

/*
 * Those of the whole database, as pg_dump alone knows which ones it is to dump:
 * it reads tables and sequences, but not members of extensions.
 */
static const char unreadable_tables_query[] =
"SELECT n.nspname, c.relname, current_user FROM pg_catalog.pg_class c"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,S}')"
" AND n.nspname OPERATOR(pg_catalog.<>) 'information_schema'"
" AND n.nspname OPERATOR(pg_catalog.!~) '^pg_'"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
" AND d.objid OPERATOR(pg_catalog.=) c.oid AND d.deptype OPERATOR(pg_catalog.=) 'e')"
" AND NOT (pg_catalog.has_schema_privilege(n.oid, 'USAGE')"
" AND pg_catalog.has_table_privilege(c.oid, 'SELECT')) ORDER BY 1, 2";

void
source_check_privileges(PGconn *conn)
{
	PGresult   *res = session_query(conn, unreadable_tables_query);
	int			n = PQntuples(res);
	PQExpBufferData names;

	if (n > 0)
	{
		initPQExpBuffer(&names);
		for (int i = 0; i < Min(n, NAMES_SHOWN); i++)
			appendPQExpBuffer(&names, "%s%s", i > 0 ? ", " : "",
							  printable(fmtQualifiedId(PQgetvalue(res, i, 0),
													   PQgetvalue(res, i, 1))));
		pg_log_error_detail("The role \"%s\" may not read %d of all tables and sequences of the database: %s%s.",
							PQgetvalue(res, 0, 2), n, names.data,
							n > NAMES_SHOWN ? ", ..." : "");
		pg_log_error_hint("GRANT pg_read_all_data TO %s lets it read them all (from PostgreSQL 14 on); -T and -N leave tables and schemas out.",
						  fmtId(PQgetvalue(res, 0, 2)));
		termPQExpBuffer(&names);
	}
	PQclear(res);
}

/* ----------
 * Locks
 * ----------
 */

/*
 * How many locks of how many sessions have room, and how many are there: the
 * table is made for two sessions an object (lock.c:InitLocks).  The formula for
 * the objects is the documentation's; there is some more room than that.
 */
static const char lock_query[] =
"SELECT 2 OPERATOR(pg_catalog.*) pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int8"
" OPERATOR(pg_catalog.*) (pg_catalog.current_setting('max_connections')::pg_catalog.int8"
" OPERATOR(pg_catalog.+) pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int8),"
" pg_catalog.count(*) FROM pg_catalog.pg_locks WHERE NOT fastpath";

/* The leader has all its locks by now; each worker locks what is in chunks. */
static void
check_locks(PGconn *conn, const DumpContext *context)
{
	int			jobs = context->options->jobs;
	PGresult   *res = session_query(conn, lock_query);
	int64		room = atoll(PQgetvalue(res, 0, 0));
	int64		used = atoll(PQgetvalue(res, 0, 1));
	int			n_chunked = 0;

	for (int i = 0; i < context->tables->n_tables; i++)
		if (context->plan->tables[i].n_files > 1)
			n_chunked++;
	if (used + (int64) jobs * n_chunked > room)
	{
		pg_log_warning("the server's lock table may be too small: %d job%s are to lock %d table%s each",
					   jobs, units_plural(jobs), n_chunked, units_plural(n_chunked));
		pg_log_warning_detail("It is made for " INT64_FORMAT " locks, and has " INT64_FORMAT " already.",
							  room, used);
		pg_log_warning_hint("Raise max_locks_per_transaction, or use fewer --jobs, or a larger --chunk-size, so that fewer tables are split.");
	}
	PQclear(res);
}

void
source_check(PGconn *conn, const DumpContext *context)
{
	check_row_security(context);
	check_large_objects(conn, context);
	check_locks(conn, context);
}

/*
 * source_check.c
 *		Looks for what would end a run while it reads, when its plan is made.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"

#include "base/message.h"
#include "base/units.h"
#include "source/source_check.h"

/* Names of tables, and OIDs, in a message. */
#define NAMES_SHOWN 10
#define OBJECTS_SHOWN "5"

/* ----------
 * Row security
 * ----------
 */

/*
 * COPY of such a table is an error as long as row_security is off, and with
 * it on it reads what the role may see only (rls.c:check_enable_rls).
 */
static void
check_row_security(const Options *options, const DumpTables *tables)
{
	PQExpBufferData names;
	int			n_found = 0;

	if (options->enable_row_security)
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
 * Functions of others
 * ----------
 */

/* Parts of tables, and masks, are queries that the user has asked for. */
static void
check_owners(const DumpTables *tables)
{
	const char *role = NULL;
	PQExpBufferData names;
	int			n_found = 0;

	initPQExpBuffer(&names);
	for (int i = 0; i < tables->n_tables; i++)
	{
		const DumpTable *table = &tables->tables[i];

		if (table->stranger == NULL || table->relkind != RELKIND_RELATION ||
			(table->filter == NULL && table->masks == NULL))
			continue;
		role = table->stranger;
		if (n_found++ < NAMES_SHOWN)
			appendPQExpBuffer(&names, "%s%s", n_found > 1 ? ", " : "",
							  printable(table->name));
	}
	if (n_found > 0)
	{
		pg_log_error("a query of %d table%s could run functions of other roles, as \"%s\"",
					 n_found, units_plural(n_found), printable(role));
		pg_log_error_detail("%s: %s%s.", n_found > 1 ? "These are" : "It is",
							names.data, n_found > NAMES_SHOWN ? ", ..." : "");
		pg_log_error_hint("Who owns a table, its parent or its schema can have queries of it call functions; if you trust them, use --trust-owners. --where, --sample and --mask are such queries.");
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
	/* at the end, so that it can be pasted */
	pg_log_error_hint("Dump none, by --no-large-objects; or grant it in this database, in psql, as a superuser: %s",
					  sql.data);
	termPQExpBuffer(&sql);
}

/* A dump has all of the database's large objects, or none. */
static void
check_large_objects(PGconn *conn, const LargeObjects *objects)
{
	char	   *sql;
	PGresult   *res;

	if (objects->n_objects == 0)
		return;
	sql = psprintf(unreadable_query, has_function(conn) ? by_function : by_acl);
	res = session_query(conn, sql);
	if (atoll(PQgetvalue(res, 0, 0)) > 0)
	{
		bool		one = atoll(PQgetvalue(res, 0, 0)) == 1;

		pg_log_error("the role \"%s\" may not read %s of the %d large object%s",
					 PQgetvalue(res, 0, 2), PQgetvalue(res, 0, 0),
					 objects->n_objects,
					 units_plural(objects->n_objects));
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
 * Those of the whole database, as pg_dump alone knows which ones it is to
 * dump: it reads tables and sequences, but not members of extensions.
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
 * How many objects the lock table is said to have room for (there is some
 * more: lock.c:NLOCKENTS), how many are locked, and how many indexes and
 * TOAST tables with theirs the tables in $1 have.
 */
static const char lock_query[] =
"SELECT pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int8"
" OPERATOR(pg_catalog.*) (pg_catalog.current_setting('max_connections')::pg_catalog.int8"
" OPERATOR(pg_catalog.+) pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int8),"
" (SELECT pg_catalog.count(*) FROM (SELECT DISTINCT l.locktype, l.database, l.relation,"
" l.page, l.tuple, l.virtualxid, l.transactionid, l.classid, l.objid, l.objsubid"
" FROM pg_catalog.pg_locks l WHERE NOT l.fastpath) o),"
" (SELECT pg_catalog.count(*) FROM pg_catalog.pg_index i"
" WHERE i.indrelid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[]))"
" OPERATOR(pg_catalog.+) (SELECT 2 OPERATOR(pg_catalog.*) pg_catalog.count(*)"
" FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])"
" AND c.reltoastrelid OPERATOR(pg_catalog.<>) 0)";

/*
 * The leader has the lock of every table by now; a worker locks what belongs
 * to the table that it reads, too (worker_session.c).
 */
static void
check_locks(PGconn *conn, const Options *options, const DumpTables *tables)
{
	int			n_tables = tables->n_tables;
	int			at_a_time = Min(options->jobs, n_tables);
	char	   *oids = dump_tables_oids(tables);
	const char *params[] = {oids};
	PGresult   *res = session_query_params(conn, lock_query, 1, params, 0);
	int64		room = atoll(PQgetvalue(res, 0, 0));
	int64		used = atoll(PQgetvalue(res, 0, 1));
	int64		more = atoll(PQgetvalue(res, 0, 2)) * at_a_time / Max(n_tables, 1);

	if (used + more > room)
	{
		pg_log_warning("the server's lock table may be too small for this run");
		pg_log_warning_detail("It is made for " INT64_FORMAT " tables and indexes; " INT64_FORMAT
							  " are locked, and the jobs lock about " INT64_FORMAT " more at a time.",
							  room, used, more);
		pg_log_warning_hint("Raise max_locks_per_transaction and restart the server, or use fewer --jobs.");
	}
	PQclear(res);
	free(oids);
}

void
source_check(PGconn *conn, const Options *options, const DumpPlan *plan)
{
	check_row_security(options, plan->tables);
	check_owners(plan->tables);
	check_large_objects(conn, plan->objects);
	check_locks(conn, options, plan->tables);
}

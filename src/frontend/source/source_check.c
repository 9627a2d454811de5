/*
 * source_check.c
 *		Checks the source before a run reads rows, for conditions that would
 *		make the run fail later or read wrong rows.
 *
 * An error after hours of reading is more expensive than a query at the
 * beginning.
 */
#include "base/fe_compat.h"

#include <limits.h>

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/units.h"
#include "session/table_lock.h"
#include "source/source_check.h"
#include "status/summary.h"

/* ----------
 * Checks of the server, before the run changes anything.
 * ----------
 */

/*
 * Problems of the server; each column is NULL if there is none.
 *
 * The age of the database: autovacuum keeps it at about
 * autovacuum_freeze_max_age.  Twice that, or half of the transaction IDs that
 * there are, means that something prevents vacuum from freezing rows.
 *
 * old_snapshot_threshold (up to 16): a session that has imported a snapshot
 * detects rows removed since the import, not since the snapshot was taken
 * (snapmgr.c:SetTransactionSnapshot).  A standby never removes rows by its
 * own threshold; for the primary's, it waits or cancels queries.
 *
 * Delays, on a standby: the settings that limit how long replay waits, if
 * they are finite.  Replay of WAL from an archive has a setting of its own.
 */
#define WRONGS_SQL \
"SELECT CASE WHEN pg_catalog.age(d.datfrozenxid) OPERATOR(pg_catalog.>) LEAST(1000000000," \
" 2 OPERATOR(pg_catalog.*) pg_catalog.current_setting('autovacuum_freeze_max_age')::pg_catalog.int8)" \
" THEN pg_catalog.age(d.datfrozenxid) END," \
" pg_catalog.current_setting('autovacuum_freeze_max_age')," \
" (SELECT pg_catalog.current_setting(s.name) FROM pg_catalog.pg_settings s" \
" WHERE s.name OPERATOR(pg_catalog.=) 'old_snapshot_threshold'" \
" AND s.setting OPERATOR(pg_catalog.<>) '-1' AND NOT pg_catalog.pg_is_in_recovery())," \
" (SELECT pg_catalog.string_agg(s.name OPERATOR(pg_catalog.||) ' = '" \
" OPERATOR(pg_catalog.||) pg_catalog.current_setting(s.name), ' and ' ORDER BY s.name DESC)" \
" FROM pg_catalog.pg_settings s" \
" WHERE pg_catalog.pg_is_in_recovery() AND s.setting OPERATOR(pg_catalog.<>) '-1'" \
" AND (s.name OPERATOR(pg_catalog.=) 'max_standby_streaming_delay'" \
" OR s.name OPERATOR(pg_catalog.=) 'max_standby_archive_delay'" \
" AND EXISTS (SELECT FROM pg_catalog.pg_settings r" \
" WHERE r.name OPERATOR(pg_catalog.=) 'restore_command'" \
" AND r.setting OPERATOR(pg_catalog.<>) '')))"

/*
 * May the role call these functions?  A hosting service may have revoked
 * them, and 9.6 does not have those for WAL positions under these names.  The
 * user who connected asks for the age, not the role of --role
 * (session_look()).
 */
#define RIGHTS_SQL \
"(" SESSION_MAY_EXECUTE("pg_catalog.pg_current_wal_insert_lsn();" \
						"pg_catalog.pg_last_wal_replay_lsn()") ")," \
" (" SESSION_MAY_EXECUTE("pg_catalog.pg_control_system()") ")," \
" pg_catalog.has_function_privilege(session_user," \
" pg_catalog.to_regprocedure('pg_catalog.pg_control_checkpoint()'), 'EXECUTE')"

/* All of these, and the number of connections that are left (%s). */
static const char look_query[] =
WRONGS_SQL ", " RIGHTS_SQL ", %s"
" FROM pg_catalog.pg_database d"
" WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

enum
{
	WRONG_AGE,
	FREEZE_MAX_AGE,
	WRONG_THRESHOLD,
	WRONG_DELAYS,
	MAY_ASK_LSN,
	MAY_ASK_IDENTIFIER,
	MAY_ASK_AGE,
	CONNECTIONS_LEFT
};

static const char database_query[] =
"SELECT d.oid FROM pg_catalog.pg_database d"
" WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

/*
 * The OID that the database must have, or InvalidOid if any database of this
 * name will do.
 */
static Oid	expected_database = InvalidOid;

static void
check_connections(PGconn *conn, const PGresult *res, int n_workers)
{
	ConnectionsLeft connections = connection_limit_read(res, CONNECTIONS_LEFT);
	int			left = connections.at_most;

	if (left >= n_workers && connections.at_least < n_workers)
		connection_limit_report_hidden(conn, connections.at_least, n_workers);
	else if (left == n_workers)
	{
		if (connections.limit == CONNECTION_LIMIT_DATABASE)
			pg_log_warning("database \"%s\" on server \"%s\" has no spare connection",
						   printable(PQdb(conn)), connection_server_name(conn));
		else
			pg_log_warning("server \"%s\" has no spare connection",
						   connection_server_name(conn));
		pg_log_warning_detail("If the connection that holds the locks on all tables is lost, replacing it requires one more connection.");
		connection_limit_hint(PG_LOG_WARNING, conn, &connections,
							  n_workers - 1);
	}
	else if (left < n_workers)
	{
		connection_limit_report(PG_LOG_ERROR, conn, &connections, left,
								n_workers);
		connection_limit_hint(PG_LOG_ERROR, conn, &connections,
							  left > 0 ? Max(left - 1, 1) : 0);
	}
}

static void
check_age(const PGresult *res)
{
	if (PQgetisnull(res, 0, WRONG_AGE))
		return;
	pg_log_warning("the oldest transaction ID in the database is %s transactions old",
				   PQgetvalue(res, 0, WRONG_AGE));
	pg_log_warning_detail(SNAPSHOT_AGE_DETAIL,
						  PQgetvalue(res, 0, FREEZE_MAX_AGE));
	pg_log_warning_hint("Run VACUUM (FREEZE) on the tables with the oldest transaction IDs first, or dump a standby without hot_standby_feedback.");
}

static void
check_threshold(const PGresult *res)
{
	if (PQgetisnull(res, 0, WRONG_THRESHOLD))
		return;
	pg_log_error("old_snapshot_threshold must be -1 on the server, but is %s",
				 PQgetvalue(res, 0, WRONG_THRESHOLD));
	pg_log_error_detail("The server might remove rows that the snapshot of the run sees, and does not detect this in sessions that import the snapshot later.");
	pg_log_error_hint("Set old_snapshot_threshold to -1 and restart the server, or use a standby, or pg_dump without --jobs.");
}

static void
check_delays(const PGresult *res, const char *name)
{
	if (PQgetisnull(res, 0, WRONG_DELAYS))
		return;
	if (name)
		pg_log_warning("replay on standby \"%s\" might cancel queries of the run (%s)",
					   name, PQgetvalue(res, 0, WRONG_DELAYS));
	else
		pg_log_warning("replay on this standby might cancel queries of the run (%s)",
					   PQgetvalue(res, 0, WRONG_DELAYS));
	pg_log_warning_detail("After this delay, replay removes rows that the snapshot sees, unless hot_standby_feedback is enabled, and takes locks on tables that are altered, dropped, or truncated by VACUUM on the primary.");
	pg_log_warning_hint("Set max_standby_streaming_delay and max_standby_archive_delay to -1 on the standby during the run.  Setting vacuum_truncate to off for a table on the primary prevents VACUUM from truncating it.");
}

ServerRights
server_check(PGconn *conn, const char *name, int n_workers)
{
	PGresult   *res = session_query(conn, psprintf(look_query,
												   connection_limit_expression(conn, true)));
	ServerRights rights = {false};

	/* There is no row if the database has just been renamed. */
	if (PQntuples(res) == 1)
	{
		/*
		 * For other standbys, check only what differs between them: age and
		 * threshold come from the primary, and have been checked on the first
		 * standby.
		 */
		check_connections(conn, res, n_workers);
		if (name == NULL)
		{
			check_age(res);
			check_threshold(res);
		}
		check_delays(res, name);
		rights.lsn = result_is_true(res, 0, MAY_ASK_LSN);
		rights.system_identifier = result_is_true(res, 0, MAY_ASK_IDENTIFIER);
		rights.age = result_is_true(res, 0, MAY_ASK_AGE);
		rights.connections = connection_limit_read(res, CONNECTIONS_LEFT);
	}
	PQclear(res);
	return rights;
}

void
server_expect_database(Oid oid)
{
	expected_database = oid;
}

Oid
server_database(PGconn *conn)
{
	PGresult   *res = session_query(conn, database_query);

	return PQntuples(res) == 1 ? result_oid(res, 0, 0) : InvalidOid;
}

void
server_check_database(PGconn *conn)
{
	if (expected_database == InvalidOid)
		return;
	if (server_database(conn) != expected_database)
	{
		pg_log_error("database \"%s\" is not the one that had this name when the run started",
					 PQdb(conn));
		pg_log_error_detail("Databases were renamed during the run, or this database was dropped and created again.");
		pg_log_error_hint("Run the same command again.");
	}
}

/* ----------
 * Changed tables: the catalogs in the snapshot and the current ones.
 *
 * The same query runs in the dump's transaction and in a session that sees
 * everything that is committed.  The locks guarantee that the answer stays
 * true.
 * ----------
 */

/*
 * Columns of definition_query.  Parts of a definition are compared as text.
 */
enum
{
	IS_LOCKED,					/* has the session locked it, if it can be
								 * locked? */
	N_COLUMNS,					/* including dropped ones */
	FILENODE_THEN,				/* in the session's snapshot */
	FILENODE_NOW,				/* in the current catalogs */
	FIRST_PART,
	N_FIELDS = FIRST_PART + 3
};

/* The message about each part. */
static const char *const part_differs[] = {
	"The name, kind or access method of the table differs from the snapshot.",
	"The columns of the table differ from the snapshot.",
	"The row security of the table differs from the snapshot."
};

/*
 * One row per table, in the order of the array: its file, and all parts of
 * its definition that decide which values and which rows a query for its
 * columns returns.
 *
 * Statements name columns, so a column that was added after those of the
 * snapshot ($2) does not matter.  Neither does a type modifier: changing it
 * rewrites the table if values change, and output functions do not depend on
 * it.  Row security only matters where it is enabled for the run; otherwise
 * the server reports an error, or it does not apply.  A catalog whose file
 * the relation map determines has 0 in pg_class.
 *
 * Tables are locked by name, but no lock prevents a schema from being
 * renamed, so a name may have led to another table at that moment.
 */
static const char definition_query[] =
"SELECT c.relkind OPERATOR(pg_catalog.<>) 'r' OR t.oid OPERATOR(pg_catalog.=) ANY"
" (SELECT l.relation FROM pg_catalog.pg_locks l"
" WHERE l.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()"
" AND l.granted AND l.relation IS NOT NULL),"
" c.relnatts, NULLIF(c.relfilenode, 0), pg_catalog.pg_relation_filenode(t.oid),"
" pg_catalog.concat_ws(' ', c.relnamespace, pg_catalog.quote_ident(c.relname),"
" c.relkind, c.relam),"
" (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attnum,"
" pg_catalog.quote_ident(a.attname), a.atttypid, a.attisdropped), ',' ORDER BY a.attnum)"
" FROM pg_catalog.pg_attribute a"
" WHERE a.attrelid OPERATOR(pg_catalog.=) t.oid"
" AND a.attnum OPERATOR(pg_catalog.>) 0"
" AND a.attnum OPERATOR(pg_catalog.<=) t.n_columns),"
" CASE WHEN c.relrowsecurity AND pg_catalog.current_setting('row_security') OPERATOR(pg_catalog.=) 'on'"
" THEN pg_catalog.concat_ws(' ', c.relforcerowsecurity, c.relowner,"
" (SELECT pg_catalog.string_agg(p::pg_catalog.text, ',' ORDER BY p.polname)"
" FROM pg_catalog.pg_policy p"
" WHERE p.polrelid OPERATOR(pg_catalog.=) t.oid)) END"
" FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.oid[]),"
" pg_catalog.unnest($2::pg_catalog.int4[])) WITH ORDINALITY t (oid, n_columns, no)"
" LEFT JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.oid"
" ORDER BY t.no";

/*
 * Returns how many columns of each table are compared: all in the snapshot,
 * and later the same number.  If COPY names no columns, because the table has
 * none, it reads all columns, so all count.
 */
static char *
column_counts(const DumpTables *tables, const PGresult *snapshot)
{
	PQExpBufferData buf = buffer_new();

	appendPQExpBufferChar(&buf, '{');
	for (int i = 0; i < tables->n_tables; i++)
		appendPQExpBuffer(&buf, "%s%d", i > 0 ? "," : "",
						  snapshot && tables->tables[i].n_columns > 0
						  ? atoi(PQgetvalue(snapshot, i, N_COLUMNS)) : PG_INT16_MAX);
	appendPQExpBufferChar(&buf, '}');
	return buf.data;
}

/*
 * Run the query.  snapshot is the result from the dump's transaction, or NULL
 * in that transaction itself.
 */
static PGresult *
definitions(PGconn *conn, const DumpTables *tables, const PGresult *snapshot)
{
	const char *params[] = {dump_tables_oids(tables),
	column_counts(tables, snapshot)};
	PGresult   *res = session_query_params(conn, definition_query, 2, params, 0);

	if (PQntuples(res) != tables->n_tables || PQnfields(res) != N_FIELDS)
		session_unexpected(psprintf("The number of tables is %d instead of %d, or the number of columns is %d instead of %d.",
									PQntuples(res), tables->n_tables,
									PQnfields(res), N_FIELDS));
	return res;
}

/* The message about the first part that differs; NULL if none does. */
static const char *
changed_part(const PGresult *before, const PGresult *now, int row)
{
	if (!result_is_true(before, row, IS_LOCKED))
		return part_differs[0];
	for (int i = FIRST_PART; i < N_FIELDS; i++)
		if (PQgetisnull(before, row, i) != PQgetisnull(now, row, i) ||
			strcmp(PQgetvalue(before, row, i), PQgetvalue(now, row, i)) != 0)
			return part_differs[i - FIRST_PART];
	return NULL;
}

/* ----------
 * At the start
 * ----------
 */
static bool
was_rewritten(const PGresult *before, const PGresult *now, int row,
			  const DumpTable *table)
{
	Oid			then = result_oid(before, row, FILENODE_THEN);

	/*
	 * The filenode in the plan is that of the first server, which may be
	 * another standby.
	 */
	return !PQgetisnull(before, row, FILENODE_THEN) &&
		(then != table->filenode || then != result_oid(now, row, FILENODE_NOW));
}

/* Report all rewritten tables.  Returns whether the run may continue. */
static bool
accept_rewritten(const PGresult *before, const PGresult *now,
				 const DumpTables *tables, const Options *options)
{
	enum pg_log_level level = options->allow_rewritten ? PG_LOG_WARNING : PG_LOG_ERROR;
	bool		any = false;

	for (int i = 0; i < tables->n_tables; i++)
	{
		if (!was_rewritten(before, now, i, &tables->tables[i]))
			continue;
		pg_log_generic(level, PG_LOG_PRIMARY, "table %s was rewritten after the snapshot was taken",
					   printable(tables->tables[i].name));
		any = true;
	}
	if (!any)
		return true;
	pg_log_generic(level, PG_LOG_DETAIL, "The snapshot no longer sees the rows if the table was rewritten by TRUNCATE, ALTER TABLE or REPACK (CONCURRENTLY).  It still sees them after VACUUM FULL, CLUSTER or plain REPACK, but pg_pardump cannot tell which command was used.");
	if (!options->allow_rewritten)
		pg_log_error_hint(options->snapshot
						  ? "Run the same command again with a new snapshot, or use --allow-rewritten if you know that no rows are lost."
						  : "Run the same command again, or use --allow-rewritten if you know that no rows are lost.");
	return options->allow_rewritten;
}

void
table_check_snapshot(PGconn *conn, PGconn *other, const DumpTables *tables,
					 const Options *options)
{
	PGresult   *before = definitions(conn, tables, NULL);
	PGresult   *now = definitions(other, tables, before);

	for (int i = 0; i < tables->n_tables; i++)
	{
		const char *part = changed_part(before, now, i);

		if (part == NULL)
			continue;
		pg_log_error("table %s was changed after the snapshot was taken",
					 printable(tables->tables[i].name));
		pg_log_error_detail("%s", part);
		pg_fatal_hint(options->snapshot ? "Run the same command again with a new snapshot."
					  : "Run the same command again.");
	}

	/*
	 * This comes last: --allow-rewritten makes it a warning, but a changed
	 * definition is always an error.
	 */
	if (!accept_rewritten(before, now, tables, options))
		exit(1);
	PQclear(before);
	PQclear(now);
}

/* ----------
 * Later
 * ----------
 */
void
table_check_unchanged(PGconn *conn, PGconn *other, const DumpTables *tables)
{
	PGresult   *before = definitions(conn, tables, NULL);
	PGresult   *now = definitions(other, tables, before);

	for (int i = 0; i < tables->n_tables; i++)
	{
		if (result_oid(now, i, FILENODE_NOW) == tables->tables[i].filenode &&
			changed_part(before, now, i) == NULL)
			continue;
		pg_log_error("table %s was changed while this run had no lock on it",
					 printable(tables->tables[i].name));
		pg_fatal_hint("Run the same command again.");
	}
	PQclear(before);
	PQclear(now);
}

void
table_check_names(const PGresult *res, const DumpTables *tables)
{
	const char *name = dump_tables_replaced(res, tables);

	if (name == NULL)
		return;
	pg_log_error("table %s was replaced by another table of this name during the run",
				 printable(name));
	pg_fatal_hint("Run the same command again, and rename tables and schemas before or after it.");
}

/* ----------
 * Checks of the plan.
 * ----------
 */

/* The numbers of tables and of OIDs that a message shows. */
#define NAMES_SHOWN 10
#define OBJECTS_SHOWN 5

/* ----------
 * Row security
 * ----------
 */

/*
 * COPY of such a table fails as long as row_security is off.  With
 * row_security on, COPY reads only the rows that the role may see
 * (rls.c:check_enable_rls).
 */
static void
check_row_security(const Options *options, const DumpTables *tables)
{
	PQExpBufferData names = buffer_new();
	int			n_found = 0;

	if (options->enable_row_security)
		return;
	for (int i = 0; i < tables->n_tables; i++)
	{
		if (!tables->tables[i].row_security)
			continue;
		if (n_found++ < NAMES_SHOWN)
			units_names_add(&names, tables->tables[i].name);
	}
	if (n_found > 0)
	{
		pg_log_error(ngettext("row security prevents the role from reading all rows of %d table",
							  "row security prevents the role from reading all rows of %d tables",
							  n_found), n_found);
		pg_log_error_detail("Tables: %s.",
							units_names(names.data, n_found, NAMES_SHOWN));
		pg_log_error_hint("Use ALTER ROLE ... BYPASSRLS to let the role read all rows, or --enable-row-security to dump only the rows that the role may see.");
	}
}

/* ----------
 * Functions of other roles
 * ----------
 */

/* The options that are used, for example "--where" or "--where, --mask". */
static const char *
querying_options(bool where, bool sample, bool mask)
{
	return psprintf("%s%s%s%s%s", where ? "--where" : "",
					where && (sample || mask) ? ", " : "",
					sample ? "--sample" : "",
					sample && mask ? ", " : "", mask ? "--mask" : "");
}

/*
 * --where, --sample and --mask run queries, which call functions that owners
 * of tables can define.  The message names the role if all owners are the
 * same, otherwise one of them.
 */
static void
check_owners(PGconn *conn, const Options *options, const DumpTables *tables)
{
	const char *role = options->role ? options->role : PQuser(conn);
	const char *owner = NULL;
	bool		several = false;
	bool		where = false;
	bool		sample = false;
	bool		mask = false;
	PQExpBufferData names = buffer_new();
	int			n_found = 0;

	for (int i = 0; i < tables->n_tables; i++)
	{
		const DumpTable *table = &tables->tables[i];

		if (table->stranger == NULL || table->relkind != RELKIND_RELATION ||
			(table->filter == NULL && table->masks == NULL))
			continue;
		several |= owner && strcmp(owner, table->stranger) != 0;
		owner = table->stranger;
		where |= table->where != NULL;
		sample |= table->sample != NULL;
		mask |= table->masks != NULL;
		if (n_found++ < NAMES_SHOWN)
			units_names_add(&names, table->name);
	}
	if (n_found > 0)
	{
		pg_log_error(several ?
					 ngettext("querying %d table could run code of other roles, for example \"%s\", with the privileges of \"%s\"",
							  "querying %d tables could run code of other roles, for example \"%s\", with the privileges of \"%s\"",
							  n_found) :
					 ngettext("querying %d table could run code of role \"%s\" with the privileges of \"%s\"",
							  "querying %d tables could run code of role \"%s\" with the privileges of \"%s\"",
							  n_found),
					 n_found, printable(owner), printable(role));
		pg_log_error_detail("Tables: %s.",
							units_names(names.data, n_found, NAMES_SHOWN));
		pg_log_error_detail("The owner of a table, of its parent or of its schema can attach functions that run as \"%s\" when the table is queried (%s).",
							printable(role),
							querying_options(where, sample, mask));
		pg_log_error_hint(several ?
						  "If you trust these roles, use --trust-owners." :
						  "If you trust this role, use --trust-owners.");
	}
}

/* ----------
 * Large objects
 * ----------
 */

/*
 * Large objects that the current user may not read, according to the rules of
 * lo_open() (inv_api.c:inv_open, aclchk.c:pg_largeobject_aclmask_snapshot).
 * %s is the condition of those that it may read.
 */
static const char unreadable_query[] =
"WITH unreadable AS (SELECT m.oid FROM pg_catalog.pg_largeobject_metadata m"
" WHERE pg_catalog.current_setting('lo_compat_privileges') OPERATOR(pg_catalog.=) 'off'"
" AND NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles r"
" WHERE r.rolname OPERATOR(pg_catalog.=) current_user)"
" AND NOT (%s))"
" SELECT pg_catalog.count(*), (SELECT pg_catalog.string_agg(f.oid::pg_catalog.text, ', ')"
" FROM (SELECT u.oid FROM unreadable u ORDER BY u.oid LIMIT " CppAsString2(OBJECTS_SHOWN) ") f),"
" current_user FROM unreadable";

/*
 * The condition from 18 on.  The function respects pg_read_all_data, which
 * includes large objects from 19 on.
 */
static const char by_function[] =
"pg_catalog.has_largeobject_privilege(m.oid, 'SELECT')";

static const char by_acl[] =
"EXISTS (SELECT FROM pg_catalog.aclexplode(COALESCE(m.lomacl,"
" pg_catalog.acldefault('L', m.lomowner))) a"
" WHERE a.privilege_type OPERATOR(pg_catalog.=) 'SELECT'"
" AND (a.grantee OPERATOR(pg_catalog.=) 0 OR pg_catalog.pg_has_role(a.grantee, 'USAGE')))";

static const char function_query[] =
"SELECT pg_catalog.to_regprocedure('pg_catalog.has_largeobject_privilege(oid,text)') IS NOT NULL";

/*
 * Show a statement for psql.  It is a query that makes GRANT statements, so
 * that the server quotes the names.
 */
static void
hint_at_grant(PGconn *conn, const char *role)
{
	PQExpBufferData sql = buffer_new();

	appendPQExpBufferStr(&sql, "SELECT format('GRANT SELECT ON LARGE OBJECT %s TO %I', oid, ");
	appendStringLiteralConn(&sql, role, conn);
	appendPQExpBufferStr(&sql, ") FROM pg_largeobject_metadata \\gexec");
	/* The statement is at the end, so that it can be copied easily. */
	pg_log_error_hint("Use --no-large-objects to exclude large objects, or grant the privilege in this database, with psql and as a superuser: %s",
					  sql.data);
}

/*
 * A dump contains all large objects of the database, or none, so one that
 * cannot be read makes the dump fail.
 */
static void
check_large_objects(PGconn *conn, const LargeObjects *objects)
{
	PGresult   *res;
	int			n;

	if (objects->n_objects == 0)
		return;
	res = session_query(conn, psprintf(unreadable_query,
									   session_is_true(conn, function_query) ?
									   by_function : by_acl));
	n = session_number(res, 0, 0, 0, INT_MAX);
	if (n > 0)
	{
		pg_log_error(ngettext("role \"%s\" may not read %d of the %d large object",
							  "role \"%s\" may not read %d of the %d large objects",
							  objects->n_objects),
					 PQgetvalue(res, 0, 2), n, objects->n_objects);
		pg_log_error_detail("Large objects: %s.",
							units_names(PQgetvalue(res, 0, 1), n, OBJECTS_SHOWN));
		hint_at_grant(conn, PQgetvalue(res, 0, 2));
	}
	PQclear(res);
}

/* ----------
 * Tables that pg_dump cannot lock
 * ----------
 */

/*
 * All such tables of the database, because only pg_dump knows which ones it
 * was to dump.  pg_dump reads tables and sequences, but not members of
 * extensions.
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
	PQExpBufferData names = buffer_new();

	if (n > 0)
	{
		for (int i = 0; i < Min(n, NAMES_SHOWN); i++)
			units_names_add(&names, fmtQualifiedId(PQgetvalue(res, i, 0),
												   PQgetvalue(res, i, 1)));
		pg_log_error_detail("Role \"%s\" may not read %d of the tables and sequences of the database: %s.",
							PQgetvalue(res, 0, 2), n,
							units_names(names.data, n, NAMES_SHOWN));
		pg_log_error_hint(PQserverVersion(conn) >= 140000 ?
						  "As a superuser, run: GRANT pg_read_all_data TO %s;  Or use -T and -N to exclude tables and schemas." :
						  "As a superuser, run for each schema: GRANT SELECT ON ALL TABLES IN SCHEMA ... TO %1$s; GRANT SELECT ON ALL SEQUENCES IN SCHEMA ... TO %1$s; GRANT USAGE ON SCHEMA ... TO %1$s;  Or use -T and -N to exclude tables and schemas.",
						  fmtId(PQgetvalue(res, 0, 2)));
	}
	PQclear(res);
}

/* ----------
 * Locks
 * ----------
 */

/*
 * For how many locks the lock table has room, how many there are, and how
 * many indexes, and TOAST tables with their indexes, the tables in $1 have.
 */
static const char lock_query[] =
"SELECT " TABLE_LOCK_ROOM_SQL ","
" (SELECT pg_catalog.count(*) FROM (SELECT DISTINCT l.locktype, l.database, l.relation,"
" l.page, l.tuple, l.virtualxid, l.transactionid, l.classid, l.objid, l.objsubid"
" FROM pg_catalog.pg_locks l WHERE NOT l.fastpath) o),"
" (SELECT pg_catalog.count(*) FROM pg_catalog.pg_index i"
" WHERE i.indrelid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[]))"
" OPERATOR(pg_catalog.+) (SELECT 2 OPERATOR(pg_catalog.*) pg_catalog.count(*)"
" FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])"
" AND c.reltoastrelid OPERATOR(pg_catalog.<>) 0)";

/*
 * The leader has locked every table by now.  A worker also locks the indexes
 * and the TOAST table of the table that it reads (worker_session.c).
 */
static void
check_locks(PGconn *conn, const Options *options, const DumpTables *tables)
{
	int			n_tables = tables->n_tables;
	int			at_a_time = Min(options->jobs, n_tables);
	const char *params[] = {dump_tables_oids(tables)};
	PGresult   *res = session_query_params(conn, lock_query, 1, params, 0);
	int64		room = atoll(PQgetvalue(res, 0, 0));
	int64		used = atoll(PQgetvalue(res, 0, 1));
	int64		more = atoll(PQgetvalue(res, 0, 2)) * at_a_time / Max(n_tables, 1);

	if (used + more > room)
	{
		pg_log_warning("the server's lock table might be too small for this run");
		pg_log_warning_detail("It has room for " INT64_FORMAT " tables and "
							  "indexes; " INT64_FORMAT " are locked, and the "
							  "jobs lock about " INT64_FORMAT " more at a "
							  "time.",
							  room, used, more);
		pg_log_warning_hint("Increase max_locks_per_transaction and restart the server, or use a smaller number for --jobs.");
	}
	PQclear(res);
}

void
source_check(PGconn *conn, const Options *options, const DumpPlan *plan)
{
	check_row_security(options, plan->tables);
	check_owners(conn, options, plan->tables);
	check_large_objects(conn, plan->objects);
	check_locks(conn, options, plan->tables);
}

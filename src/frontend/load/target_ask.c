/*
 * target_ask.c
 *		Queries a target about objects by their names, and about tables.
 *
 * All questions are parts of one statement, so that a run adds only one entry
 * to pg_stat_statements.  The question is a parameter, and the server plans
 * the statement for its value, so the parts for other questions are removed
 * from the plan.
 */
#include "base/fe_compat.h"

#include "load/target_ask.h"
#include "session/session.h"

#define ASKED(question) "$2::pg_catalog.text OPERATOR(pg_catalog.=) '" question "'"

#define NAMES "$1::pg_catalog.text[]"
#define OIDS "$3::pg_catalog.oid[]"

static const char missing_part[] =
"SELECT t.no, NULL::pg_catalog.int8 AS number, NULL::pg_catalog.bool,"
" NULL::pg_catalog.bool, t.name AS name"
" FROM pg_catalog.unnest(" NAMES ") WITH ORDINALITY t (name, no)"
" WHERE (" ASKED(TARGET_ROLE) " OR " ASKED(TARGET_SUPERUSER)
" OR " ASKED(TARGET_TABLESPACE) " OR " ASKED(TARGET_SCHEMA)
" OR " ASKED(TARGET_EXTENSION) " OR " ASKED(TARGET_EXTENSION_FILES)
" OR " ASKED(TARGET_ANY_EXTENSION) ")"
" AND t.name OPERATOR(pg_catalog.<>) ALL (ARRAY("
"SELECT r.rolname::pg_catalog.text FROM pg_catalog.pg_roles r"
" WHERE " ASKED(TARGET_ROLE) " OR r.rolsuper AND " ASKED(TARGET_SUPERUSER)
" UNION ALL SELECT s.spcname::pg_catalog.text FROM pg_catalog.pg_tablespace s"
" WHERE " ASKED(TARGET_TABLESPACE)
" UNION ALL SELECT n.nspname::pg_catalog.text FROM pg_catalog.pg_namespace n"
" WHERE " ASKED(TARGET_SCHEMA)
" UNION ALL SELECT a.name::pg_catalog.text FROM pg_catalog.pg_available_extensions a"
" WHERE " ASKED(TARGET_ANY_EXTENSION) " OR " ASKED(TARGET_EXTENSION_FILES)
" UNION ALL SELECT x.extname::pg_catalog.text FROM pg_catalog.pg_extension x"
" WHERE " ASKED(TARGET_ANY_EXTENSION) " OR " ASKED(TARGET_EXTENSION)
"))";

static const char oids_part[] =
"SELECT t.no, " TABLE_OID_OF("t.name") "::pg_catalog.int8, NULL, NULL, NULL"
" FROM pg_catalog.unnest(" NAMES ") WITH ORDINALITY t (name, no)"
" WHERE " ASKED(TARGET_OIDS);

static const char filled_part[] =
"SELECT t.no, NULL, f.hands_on, NULL, NULL"
" FROM pg_catalog.unnest(" NAMES ") WITH ORDINALITY t (name, no),"
" LATERAL " TABLE_OID_OF("t.name") " c (oid),"
" LATERAL (SELECT pg_catalog.bool_or("
"pg_catalog.pg_relation_size(p.oid) OPERATOR(pg_catalog.>) 0::pg_catalog.int8),"
" pg_catalog.bool_or(p.relkind OPERATOR(pg_catalog.=) 'f'::pg_catalog.\"char\""
" OR (p.relkind OPERATOR(pg_catalog.=) 'v'::pg_catalog.\"char\" AND p.relhastriggers))"
" FROM (SELECT c.oid UNION ALL"
" SELECT e.relid::pg_catalog.oid FROM pg_catalog.pg_partition_tree(c.oid) e) r (oid)"
" JOIN pg_catalog.pg_class p ON p.oid OPERATOR(pg_catalog.=) r.oid) f (is_filled, hands_on)"
" WHERE " ASKED(TARGET_FILLED) " AND (f.is_filled OR f.hands_on)";

/*
 * Without ANALYZE ONLY, ANALYZE of a partitioned table also analyzes all its
 * partitions, so only the root of a tree is listed.
 */
static const char analyze_part[] =
"(WITH named AS ("
"SELECT " TABLE_OID_OF("n") " AS oid"
" FROM pg_catalog.unnest(" NAMES ") n"
" WHERE " ASKED(TARGET_ANALYZE) " OR " ASKED(TARGET_ANALYZE_ONLY)
"), chosen AS ("
"SELECT COALESCE(pg_catalog.pg_partition_root(oid), oid)::pg_catalog.oid AS oid"
" FROM named WHERE " ASKED(TARGET_ANALYZE)
" UNION "
"SELECT oid FROM named WHERE " ASKED(TARGET_ANALYZE_ONLY)
" UNION "
"SELECT a.relid FROM named, pg_catalog.pg_partition_ancestors(named.oid) a"
" WHERE " ASKED(TARGET_ANALYZE_ONLY)
")"
" SELECT 0, COALESCE((SELECT pg_catalog.sum(pg_catalog.pg_table_size(t.relid))"
" FROM pg_catalog.pg_partition_tree(c.oid) t),"
" pg_catalog.pg_table_size(c.oid))::pg_catalog.int8, NULL, NULL,"
" CASE WHEN " ASKED(TARGET_ANALYZE_ONLY) " AND c.relkind OPERATOR(pg_catalog.=) 'p'"
" THEN 'ONLY ' ELSE '' END OPERATOR(pg_catalog.||)"
" c.oid::pg_catalog.regclass::pg_catalog.text"
" FROM chosen JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) chosen.oid)";

static const char unlogged_part[] =
"SELECT r.no, pg_catalog.count(*)"
" FILTER (WHERE c.relpersistence OPERATOR(pg_catalog.=) 'u'"
" AND pg_catalog.pg_relation_size(r.oid) OPERATOR(pg_catalog.>) 0::pg_catalog.int8),"
" pg_catalog.bool_and(c.relpersistence OPERATOR(pg_catalog.=) 'u')"
" FILTER (WHERE c.relkind OPERATOR(pg_catalog.<>) 'p'),"
" pg_catalog.bool_or(EXISTS (SELECT FROM pg_catalog.pg_trigger g"
" WHERE g.tgrelid OPERATOR(pg_catalog.=) c.oid AND " INSERT_TRIGGER_SQL
" AND g.tgenabled OPERATOR(pg_catalog.<>) 'D')), NULL"
" FROM " TARGET_REACHED_SQL(OIDS)
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) r.oid"
" WHERE " ASKED(TARGET_UNLOGGED)
" GROUP BY r.no"
" HAVING pg_catalog.bool_or(c.relpersistence OPERATOR(pg_catalog.=) 'u'"
" AND c.relkind OPERATOR(pg_catalog.<>) 'p')";

static const char keys_part[] =
"(WITH loaded AS ("
"SELECT t.no, COALESCE(pg_catalog.pg_partition_root(t.oid), t.oid)::pg_catalog.oid AS root"
" FROM pg_catalog.unnest(" OIDS ") WITH ORDINALITY t (oid, no)"
" WHERE " ASKED(TARGET_KEYS)
"), keys AS ("
"SELECT DISTINCT COALESCE(pg_catalog.pg_partition_root(c.conrelid), c.conrelid)::pg_catalog.oid AS from_root,"
" COALESCE(pg_catalog.pg_partition_root(c.confrelid), c.confrelid)::pg_catalog.oid AS to_root"
" FROM pg_catalog.pg_constraint c WHERE c.contype OPERATOR(pg_catalog.=) 'f'"
" AND " ASKED(TARGET_KEYS)
")"
" SELECT DISTINCT f.no, t.no, NULL::pg_catalog.bool, NULL::pg_catalog.bool,"
" NULL::pg_catalog.text FROM keys k"
" JOIN loaded f ON f.root OPERATOR(pg_catalog.=) k.from_root"
" JOIN loaded t ON t.root OPERATOR(pg_catalog.=) k.to_root)";

static const char own_schema_part[] =
"SELECT CASE WHEN pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')"
" THEN 1 ELSE 0 END, n.oid::pg_catalog.int8,"
" u.oid OPERATOR(pg_catalog.=) n.nspowner"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_class c"
" WHERE c.relnamespace OPERATOR(pg_catalog.=) n.oid"
" AND c.relowner OPERATOR(pg_catalog.<>) u.oid),"
" (SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c"
" WHERE c.relnamespace OPERATOR(pg_catalog.=) n.oid"
" AND ((c.relname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ((" NAMES ")[3:])"
" AND c.relkind OPERATOR(pg_catalog.=) 'r')"
" OR (c.relname::pg_catalog.text OPERATOR(pg_catalog.=) (" NAMES ")[2]"
" AND c.relkind OPERATOR(pg_catalog.=) 'v')))"
" OPERATOR(pg_catalog.+) 1 OPERATOR(pg_catalog.=) pg_catalog.cardinality(" NAMES "), NULL"
" FROM pg_catalog.pg_roles u LEFT JOIN pg_catalog.pg_namespace n"
" ON n.nspname OPERATOR(pg_catalog.=) (" NAMES ")[1]::pg_catalog.name"
" WHERE u.rolname OPERATOR(pg_catalog.=) CURRENT_USER AND " ASKED(TARGET_OWN_SCHEMA);

PGresult *
target_ask(PGconn *conn, const char *question, const char *names,
		   const char *oids)
{
	const char *params[] = {names, question, oids};
	char	   *sql;

	/* An empty list needs no query. */
	if (strcmp(names ? names : oids, "{}") == 0)
		return PQmakeEmptyPGresult(conn, PGRES_TUPLES_OK);
	sql = psprintf("%s UNION ALL %s UNION ALL %s UNION ALL %s"
				   " UNION ALL %s UNION ALL %s UNION ALL %s"
				   " ORDER BY no, number DESC, name",
				   missing_part, oids_part, filled_part,
				   analyze_part, unlogged_part, keys_part,
				   own_schema_part);

	return session_query_params(conn, sql, 3, params, 0);
}

/*
 * table_check.c
 *		Compares tables under the snapshot with what they are now.
 *
 * The same query is run in the dump's transaction and in a session that sees
 * all that is committed; the locks make sure that its answer stays true.
 */
#include "fe_compat.h"

#include "common/connect.h"
#include "fe_utils/string_utils.h"

#include "cleanup.h"
#include "printable.h"
#include "table_check.h"

/*
 * One row a table, in the order of the array: its OID, and all that decides
 * what a query for its columns and rows means.
 */
static const char definition_query[] =
"SELECT t.oid, pg_catalog.pg_relation_filenode(t.oid),"
" pg_catalog.concat_ws(' ', c.relnamespace, c.relname, c.relkind, c.relam,"
" c.relowner, c.relrowsecurity, c.relforcerowsecurity,"
" (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attnum, a.attname,"
" a.atttypid, a.atttypmod, a.attisdropped), ',' ORDER BY a.attnum)"
" FROM pg_catalog.pg_attribute a"
" WHERE a.attrelid OPERATOR(pg_catalog.=) t.oid"
" AND a.attnum OPERATOR(pg_catalog.>) 0),"
" (SELECT pg_catalog.string_agg(p::pg_catalog.text, ',' ORDER BY p.polname)"
" FROM pg_catalog.pg_policy p"
" WHERE p.polrelid OPERATOR(pg_catalog.=) t.oid))"
" FROM pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY t (oid, no)"
" LEFT JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.oid"
" ORDER BY t.no";

static PGresult *
definitions(PGconn *conn, const DumpTables *tables)
{
	char	   *oids = dump_tables_oids(tables);
	const char *params[] = {oids};
	PGresult   *res = session_query_params(conn, definition_query, 1, params, 0);

	if (PQntuples(res) != tables->n_tables)
		pg_fatal("the server describes %d tables where %d were expected",
				 PQntuples(res), tables->n_tables);
	free(oids);
	return res;
}

static bool
is_same(const PGresult *before, const PGresult *now, int row,
		const DumpTable *table)
{
	return (Oid) strtoul(PQgetvalue(now, row, 1), NULL, 10) == table->filenode &&
		strcmp(PQgetvalue(before, row, 2), PQgetvalue(now, row, 2)) == 0;
}

void
table_check_unchanged(PGconn *conn, PGconn *other, const DumpTables *tables)
{
	PGresult   *before = definitions(conn, tables);
	PGresult   *now;

	PQclear(session_query(other, ALWAYS_SECURE_SEARCH_PATH_SQL));
	now = definitions(other, tables);
	for (int i = 0; i < tables->n_tables; i++)
	{
		if (is_same(before, now, i, &tables->tables[i]))
			continue;
		pg_log_error("table %s was changed while the leader had no lock on it",
					 printable(tables->tables[i].name));
		pg_log_error_hint("Run the dump again.");
		exit(1);
	}
	PQclear(before);
	PQclear(now);
}

char *
table_check_names_query(PGconn *conn, const DumpTables *tables)
{
	char	   *oids = dump_tables_oids(tables);
	char	   *names = dump_tables_name_array(conn, tables, false);
	PQExpBufferData sql;

	initPQExpBuffer(&sql);
	appendPQExpBufferStr(&sql, "SELECT t.name FROM ROWS FROM (pg_catalog.unnest(");
	appendStringLiteralConn(&sql, oids, conn);
	appendPQExpBufferStr(&sql, "::pg_catalog.oid[]), pg_catalog.unnest(");
	appendStringLiteralConn(&sql, names, conn);
	appendPQExpBufferStr(&sql, "::pg_catalog.text[])) t (oid, name)"
						 " WHERE pg_catalog.to_regclass(t.name) OPERATOR(pg_catalog.<>) t.oid"
						 " LIMIT 1");
	free(names);
	free(oids);
	return sql.data;
}

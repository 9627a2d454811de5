/*
 * server_extension.c
 *		Finds the extension, and decides which tables it can read.
 */
#include "fe_compat.h"

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"

#include "server_extension.h"

/* Where it is, of which version, and whether we may call its functions. */
static const char find_query[] =
"SELECT n.nspname, x.extversion,"
" pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND 3 OPERATOR(pg_catalog.=)"
" (SELECT pg_catalog.count(*) FROM pg_catalog.pg_proc p"
" WHERE p.pronamespace OPERATOR(pg_catalog.=) n.oid"
" AND p.proname OPERATOR(pg_catalog.=) ANY ('{pg_pardump_chunks,pg_pardump_read,pg_pardump_last_read}')"
" AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE'))"
" FROM pg_catalog.pg_extension x"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) x.extnamespace"
" WHERE x.extname OPERATOR(pg_catalog.=) 'pg_pardump'";

const ServerExtension *
server_extension_find(PGconn *conn, const Options *options)
{
	ServerExtension *extension = NULL;
	PGresult   *res;

	if (options->no_extension)
		return NULL;
	res = session_query(conn, find_query);
	if (PQntuples(res) == 0)
		pg_log_info("the database has no extension pg_pardump: tables are cut by blocks and read by SQL");
	else if (strcmp(PQgetvalue(res, 0, 1), PARDUMP_EXTENSION_VERSION) != 0)
		pg_log_info("extension pg_pardump is of version %s, not %s: tables are cut by blocks and read by SQL",
					PQgetvalue(res, 0, 1), PARDUMP_EXTENSION_VERSION);
	else if (PQgetvalue(res, 0, 2)[0] != 't')
		pg_log_info("no permission to use extension pg_pardump: tables are cut by blocks and read by SQL");
	else
	{
		const char *schema = PQgetvalue(res, 0, 0);

		extension = pg_malloc(sizeof(ServerExtension));
		extension->chunks_function =
			pg_strdup(fmtQualifiedId(schema, "pg_pardump_chunks"));
		extension->read_function =
			pg_strdup(fmtQualifiedId(schema, "pg_pardump_read"));
		extension->last_read_function =
			pg_strdup(fmtQualifiedId(schema, "pg_pardump_last_read"));
	}
	PQclear(res);
	return extension;
}

bool
server_extension_reads(const ServerExtension *extension,
					   const DumpTable *table, const char **reason)
{
	*reason = NULL;
	if (extension == NULL)
		*reason = "there is no extension";
	else if (table->relkind != RELKIND_RELATION)
		*reason = "it is a foreign table";
	else if (!table->is_heap)
		*reason = "its access method is not heap";
	else if (table->condition)
		*reason = "it is an extension's configuration table with a condition";
	else if (table->filter)
		*reason = "its rows are filtered";
	else if (table->row_security)
		*reason = "row security applies to it";
	return *reason == NULL;
}

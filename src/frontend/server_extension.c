/*
 * server_extension.c
 *		Finds the extension, and decides which tables it can read.
 */
#include "fe_compat.h"

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"

#include "printable.h"
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

/* Why it cannot be used, by what was found; NULL if it can. */
static const char *
why_missing(const PGresult *res)
{
	if (PQntuples(res) == 0)
		return "the database has no extension pg_pardump";
	if (strcmp(PQgetvalue(res, 0, 1), PARDUMP_EXTENSION_VERSION) != 0)
		return psprintf("extension pg_pardump is of version %s, not %s",
						printable(PQgetvalue(res, 0, 1)),
						PARDUMP_EXTENSION_VERSION);
	if (PQgetvalue(res, 0, 2)[0] != 't')
		return "no permission to use extension pg_pardump";
	return NULL;
}

const ServerExtension *
server_extension_find(PGconn *conn, const Options *options)
{
	ServerExtension *extension = pg_malloc0(sizeof(ServerExtension));
	PGresult   *res;

	if (options->no_extension)
	{
		extension->missing = "the extension is not wanted";
		return extension;
	}
	res = session_query(conn, find_query);
	extension->missing = why_missing(res);
	if (extension->missing)
		pg_log_info("%s: tables are cut by blocks and read by SQL",
					extension->missing);
	else
	{
		const char *schema = PQgetvalue(res, 0, 0);

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
	*reason = extension->missing;
	if (*reason)
		return false;
	if (table->relkind != RELKIND_RELATION)
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

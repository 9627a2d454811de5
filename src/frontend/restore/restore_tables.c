/*
 * restore_tables.c
 *		What follows from what is restored.
 */
#include "base/fe_compat.h"

#include "base/printable.h"
#include "restore/restore_tables.h"
#include "session/session.h"
#include "session/text_array.h"

/* As pg_backup_archiver.c:_tocEntryRequired tells data from definitions. */
static bool
has_definition(const TocEntry *entry)
{
	static const char *const data[] = {
		"ENCODING", "STDSTRINGS", "SEARCHPATH", "SEQUENCE SET", "BLOB",
		"BLOB METADATA", "STATISTICS DATA"
	};

	if (entry->defn == NULL || entry->defn[0] == '\0' ||
		strncmp(entry->defn, "-- load via partition root ", 27) == 0)
		return false;
	for (int i = 0; i < (int) lengthof(data); i++)
		if (toc_entry_is(entry, data[i]))
			return false;
	/* what belongs to a large object, or to several */
	return strncmp(entry->tag, "LARGE OBJECT", 12) != 0;
}

bool
restore_tables_is_data_only(const Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
		if (has_definition(&toc->entries[i]))
			return false;
	return true;
}

bool
restore_tables_has_statistics(const Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is(&toc->entries[i], "STATISTICS DATA"))
			return true;
	return false;
}

bool
restore_tables_has_inserts(const Toc *toc, const int *ids, int n_ids)
{
	const TocEntry **by_id = toc_entries_by_id(toc);
	bool		found = false;

	for (int i = 0; i < n_ids && !found; i++)
	{
		const TocEntry *entry = ids[i] <= toc->max_dump_id ? by_id[ids[i]] : NULL;

		found = entry && toc_entry_is_table_data(entry) &&
			(entry->copy_stmt == NULL || entry->copy_stmt[0] == '\0');
	}
	free(by_id);
	return found;
}

const char *
restore_tables_new_database(const Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is(&toc->entries[i], "DATABASE"))
			return toc->entries[i].tag;
	return NULL;
}

/*
 * Whether it has each of the tables.  Unlike to_regclass() it is no error if
 * the role may not look into a schema.
 */
static const char look_query[] =
"SELECT EXISTS (SELECT FROM pg_catalog.pg_class c"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" WHERE c.relname OPERATOR(pg_catalog.=) t.name::pg_catalog.name"
" AND n.nspname OPERATOR(pg_catalog.=) t.schema::pg_catalog.name)"
" FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]),"
" pg_catalog.unnest($2::pg_catalog.text[]))"
" WITH ORDINALITY t (schema, name, no)"
" ORDER BY t.no";

bool *
restore_tables_look(PGconn *conn, const DumpTables *tables)
{
	static char none[] = "";
	int			n = tables->n_tables;
	char	  **schemas = pg_malloc((n + 1) * sizeof(char *));
	char	  **names = pg_malloc((n + 1) * sizeof(char *));
	bool	   *there = pg_malloc((n + 1) * sizeof(bool));
	char	   *params[2];
	PGresult   *res;

	for (int i = 0; i < n; i++)
	{
		const TocEntry *entry = tables->tables[i].entry;

		schemas[i] = entry->namespace ? entry->namespace : none;
		names[i] = entry->tag;
	}
	params[0] = text_array(conn, schemas, n);
	params[1] = text_array(conn, names, n);
	res = session_query_params(conn, look_query, 2,
							   (const char *const *) params, 0);
	for (int i = 0; i < n; i++)
		there[i] = PQgetvalue(res, i, 0)[0] == 't';
	PQclear(res);
	free(params[0]);
	free(params[1]);
	free(schemas);
	free(names);
	return there;
}

void
restore_tables_leave_out(const RestoreWork *work, const bool *look, bool there)
{
	const DumpPlan *plan = work->run->plan;

	for (int i = 0; i < plan->tables->n_tables; i++)
	{
		const TablePlan *decided = &plan->chunks->tables[i];

		if (!plan->tables->tables[i].has_definition || look[i] != there ||
			work->left_out[decided->first_file])
			continue;
		pg_log_info("table %s could not be created, will not restore its data",
					printable(plan->tables->tables[i].name));
		for (int j = 0; j < decided->n_files; j++)
		{
			work->left_out[decided->first_file + j] = true;
			work->run->results->files[decided->first_file + j].incomplete = true;
		}
	}
}

/*
 * restore_tables.c
 *		What follows from what is restored.
 */
#include "base/fe_compat.h"

#include "base/printable.h"
#include "plan/dump_table_read.h"
#include "restore/restore_tables.h"
#include "session/session.h"

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

/* Whether it has each of the tables, in their order. */
static const char there_query[] =
"SELECT pg_catalog.to_regclass(t.name) IS NOT NULL"
" FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY t (name, no)"
" ORDER BY t.no";

void
restore_tables_leave_out(PGconn *conn, const RestoreWork *work, bool there)
{
	const DumpPlan *plan = work->run->plan;
	char	   *names = dump_tables_name_array(conn, plan->tables, false);
	const char *params[] = {names};
	PGresult   *res = session_query_params(conn, there_query, 1, params, 0);

	for (int i = 0; i < plan->tables->n_tables; i++)
	{
		const TablePlan *decided = &plan->chunks->tables[i];

		if (!plan->tables->tables[i].has_definition ||
			(PQgetvalue(res, i, 0)[0] == 't') != there ||
			work->left_out[decided->first_file])
			continue;
		pg_log_info("table %s could not be created, will not restore its data",
					printable(plan->tables->tables[i].name));
		for (int j = 0; j < decided->n_files; j++)
			work->left_out[decided->first_file + j] = true;
	}
	PQclear(res);
	free(names);
}

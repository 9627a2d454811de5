/*
 * restore_tables.c
 *		What follows from what is restored.
 */
#include "base/fe_compat.h"

#include "base/message.h"
#include "restore/restore_tables.h"
#include "session/session.h"
#include "target/target_check.h"
#include "target/target_check.h"

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

bool *
restore_tables_look(PGconn *conn, const DumpTables *tables)
{
	Oid		   *oids = target_find_own_tables(conn, tables);
	bool	   *there = pg_malloc((tables->n_tables + 1) * sizeof(bool));

	for (int i = 0; i < tables->n_tables; i++)
		there[i] = OidIsValid(oids[i]);
	free(oids);
	return there;
}

/*
 * The numbers of the tables that have blocks, or partitions that have.  No
 * rows are read, as that might run functions of others.
 */
static const char filled_query[] =
"SELECT t.no"
" FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]),"
" pg_catalog.unnest($2::pg_catalog.text[]))"
" WITH ORDINALITY t (schema, name, no)"
" JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) t.schema::pg_catalog.name"
" JOIN pg_catalog.pg_class c ON c.relnamespace OPERATOR(pg_catalog.=) n.oid"
" AND c.relname OPERATOR(pg_catalog.=) t.name::pg_catalog.name"
" WHERE pg_catalog.pg_relation_size(c.oid) OPERATOR(pg_catalog.>) 0::pg_catalog.int8"
" OR EXISTS (SELECT FROM pg_catalog.pg_partition_tree(c.oid) p"
" WHERE pg_catalog.pg_relation_size(p.relid) OPERATOR(pg_catalog.>) 0::pg_catalog.int8)"
" ORDER BY t.no";

static void
refuse_filled_tables(PGconn *conn, const DumpTables *tables)
{
	const int	most_shown = 3;
	int			n = 0;
	const DumpTable **created = pg_malloc((tables->n_tables + 1) * sizeof(DumpTable *));
	char	  **schemas = pg_malloc((tables->n_tables + 1) * sizeof(char *));
	char	  **names = pg_malloc((tables->n_tables + 1) * sizeof(char *));
	char	   *params[2];
	PGresult   *res;

	for (int i = 0; i < tables->n_tables; i++)
	{
		const TocEntry *entry = tables->tables[i].entry;

		if (!tables->tables[i].has_definition || entry->namespace == NULL)
			continue;
		created[n] = &tables->tables[i];
		schemas[n] = entry->namespace;
		names[n++] = entry->tag;
	}
	params[0] = text_array(conn, schemas, n);
	params[1] = text_array(conn, names, n);
	res = session_query_params(conn, filled_query, 2,
							   (const char *const *) params, 0);
	if (PQntuples(res) > 0)
	{
		PQExpBufferData shown;

		initPQExpBuffer(&shown);
		for (int i = 0; i < PQntuples(res) && i < most_shown; i++)
			appendPQExpBuffer(&shown, "%s%s", i > 0 ? ", " : "",
							  printable(created[session_number(res, i, 0, 1, n) - 1]->name));
		pg_log_error("%d of the tables to be restored exist%s on the target and contain%s rows",
					 PQntuples(res), PQntuples(res) == 1 ? "s" : "",
					 PQntuples(res) == 1 ? "s" : "");
		pg_log_error_detail(PQntuples(res) > most_shown ? "Among them: %s." :
							PQntuples(res) > 1 ? "These are: %s." : "It is %s.", shown.data);
		pg_log_error_hint("--clean drops existing objects first; --data-only and --allow-existing add the rows of the archive; --resume continues an interrupted restore.");
		termPQExpBuffer(&shown);
	}
	PQclear(res);
	free(params[0]);
	free(params[1]);
	free(created);
	free(schemas);
	free(names);
}

/*
 * Of relations, types and functions, by the catalog that has them.  A
 * function's arguments do not matter.
 */
static const char exist_query[] =
"SELECT FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]),"
" pg_catalog.unnest($2::pg_catalog.text[]),"
" pg_catalog.unnest($3::pg_catalog.text[])) t (kind, schema, name)"
" JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) t.schema::pg_catalog.name"
" WHERE CASE t.kind WHEN 'relation' THEN EXISTS (SELECT FROM pg_catalog.pg_class c"
" WHERE c.relnamespace OPERATOR(pg_catalog.=) n.oid"
" AND c.relname OPERATOR(pg_catalog.=) t.name::pg_catalog.name)"
" WHEN 'type' THEN EXISTS (SELECT FROM pg_catalog.pg_type y"
" WHERE y.typnamespace OPERATOR(pg_catalog.=) n.oid"
" AND y.typname OPERATOR(pg_catalog.=) t.name::pg_catalog.name)"
" ELSE EXISTS (SELECT FROM pg_catalog.pg_proc p"
" WHERE p.pronamespace OPERATOR(pg_catalog.=) n.oid"
" AND pg_catalog.strpos(t.name, p.proname OPERATOR(pg_catalog.||) '('::pg_catalog.text) OPERATOR(pg_catalog.=) 1) END"
" LIMIT 1";

/* By what a catalog calls them; NULL for other entries. */
static const char *
catalog_kind(const TocEntry *entry)
{
	static const char *const relations[] = {
		"TABLE", "TABLE DATA", "FOREIGN TABLE", "VIEW", "MATERIALIZED VIEW",
		"SEQUENCE", NULL
	};
	static const char *const types[] = {"TYPE", "DOMAIN", "SHELL TYPE", NULL};
	static const char *const functions[] = {
		"FUNCTION", "PROCEDURE", "AGGREGATE", NULL
	};

	if (entry->namespace == NULL)
		return NULL;
	return toc_entry_is_one_of(entry, relations) ? "relation" :
		toc_entry_is_one_of(entry, types) ? "type" :
		toc_entry_is_one_of(entry, functions) ? "function" : NULL;
}

bool
restore_tables_exist(PGconn *conn, const Toc *toc, const DumpPlan *plan)
{
	char	  **columns[3];
	char	   *params[3];
	int			n = 0;
	PGresult   *res;
	bool		found;

	for (int i = 0; i < 3; i++)
		columns[i] = pg_malloc((toc->n_entries + 1) * sizeof(char *));
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		const char *kind = catalog_kind(entry);

		/* chunks of a table follow each other */
		if (kind == NULL ||
			(n > 0 && strcmp(columns[2][n - 1], entry->tag) == 0 &&
			 strcmp(columns[1][n - 1], entry->namespace) == 0))
			continue;
		columns[0][n] = unconstify(char *, kind);
		columns[1][n] = entry->namespace;
		columns[2][n++] = entry->tag;
	}
	for (int i = 0; i < 3; i++)
		params[i] = text_array(conn, columns[i], n);
	res = session_query_params(conn, exist_query, 3,
							   (const char *const *) params, 0);
	found = PQntuples(res) > 0;
	PQclear(res);
	for (int i = 0; i < 3; i++)
	{
		free(params[i]);
		free(columns[i]);
	}
	return found || target_count_objects(conn, plan) > 0;
}

void
restore_tables_refuse_existing(PGconn *conn, const DumpPlan *plan)
{
	int			n;

	refuse_filled_tables(conn, plan->tables);
	n = target_count_objects(conn, plan);
	if (n == 0)
		return;
	pg_log_error("%d of the large objects to be restored exist%s on the target",
				 n, n == 1 ? "s" : "");
	pg_log_error_detail("Large objects of two databases can have the same OID by chance; a restore would overwrite these.");
	pg_log_error_hint("--clean drops them first; --allow-existing overwrites their contents, as pg_restore does.");
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

/*
 * dump_table.c
 *		Finds the tables to be dumped in pg_dump's table of contents.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/identifier.h"
#include "base/message.h"
#include "plan/dump_table.h"
#include "session/session.h"

/*
 * Read "COPY table (a, b) FROM stdin;", where the list of columns is missing
 * if there is none to copy (pg_dump.c:fmtCopyColumnList).
 */
static void
read_copy_statement(DumpTable *table)
{
	const char *name = table->entry->copy_stmt;
	const char *list;
	const char *end;

	if (name == NULL || strncmp(name, "COPY ", 5) != 0)
		pg_fatal("pg_dump describes no COPY for the data of table \"%s\"",
				 printable(table->entry->tag));
	name += 5;
	end = identifier_skip(name, ' ');
	table->copy_name = pnstrdup(name, end - name);
	if (strncmp(end, " (", 2) != 0)
		return;
	list = end + 2;
	end = identifier_skip(list, ')');
	if (*end != ')')
		pg_fatal("could not read the column list of table \"%s\"",
				 printable(table->entry->tag));
	table->columns = identifier_split(list, end - list, &table->n_columns);
}

DumpTables *
dump_tables_of_toc(const Toc *toc)
{
	DumpTables *result = pg_malloc0(sizeof(DumpTables));
	const TocEntry **by_id = toc_entries_by_id(toc);

	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is_table_data(&toc->entries[i]))
			result->n_tables++;
	result->tables = pg_malloc0((result->n_tables + 1) * sizeof(DumpTable));
	result->n_tables = 0;
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		DumpTable  *table = &result->tables[result->n_tables];

		if (!toc_entry_is_table_data(entry))
			continue;
		table->entry = entry;
		table->oid = entry->oid;
		table->name = pg_strdup(fmtQualifiedId(entry->namespace, entry->tag));
		read_copy_statement(table);
		table->has_definition = by_id[toc_table_dump_id(entry)] != NULL;
		result->n_tables++;
	}
	free(by_id);
	return result;
}

/* By dump ID of a table's definition: its number, or -1; owned. */
static int *
number_tables(const DumpTables *tables, const Toc *toc)
{
	int		   *numbers = pg_malloc((toc->max_dump_id + 1) * sizeof(int));

	for (int i = 0; i <= toc->max_dump_id; i++)
		numbers[i] = -1;
	for (int i = 0; i < tables->n_tables; i++)
	{
		int			id = toc_table_dump_id(tables->tables[i].entry);

		if (id <= toc->max_dump_id)
			numbers[id] = i;
	}
	return numbers;
}

int *
dump_tables_count_builds(const DumpTables *tables, const Toc *toc)
{
	int		   *numbers = number_tables(tables, toc);
	int		   *counts = pg_malloc0((tables->n_tables + 1) * sizeof(int));
	bool	   *has_index = pg_malloc0(tables->n_tables + 1);

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		bool		constraint = toc_entry_is(entry, "CONSTRAINT");

		if (!constraint && !toc_entry_is(entry, "INDEX"))
			continue;
		for (int j = 0; j < entry->n_deps; j++)
		{
			int			id = entry->deps[j];
			int			table = id > 0 && id <= toc->max_dump_id ? numbers[id] : -1;

			if (table < 0 || (!constraint && has_index[table]))
				continue;
			counts[table]++;
			has_index[table] |= !constraint;
			break;
		}
	}
	free(has_index);
	free(numbers);
	return counts;
}

char *
dump_table_select_list(const DumpTable *table)
{
	char	  **list = pg_malloc((table->n_columns + 1) * sizeof(char *));
	char	   *result;

	for (int i = 0; i < table->n_columns; i++)
		list[i] = table->masks && table->masks[i].sql ? table->masks[i].sql
			: table->columns[i];
	result = identifier_join(list, table->n_columns);
	free(list);
	return result;
}

int
dump_table_count_masks(const DumpTable *table)
{
	int			n = 0;

	for (int i = 0; table->masks && i < table->n_columns; i++)
		n += table->masks[i].sql != NULL;
	return n;
}

int
dump_tables_count_masks(const DumpTables *tables)
{
	int			n = 0;

	for (int i = 0; i < tables->n_tables; i++)
		n += dump_table_count_masks(&tables->tables[i]);
	return n;
}

char *
dump_tables_oids(const DumpTables *tables)
{
	Oid		   *oids = pg_malloc((tables->n_tables + 1) * sizeof(Oid));
	char	   *result;

	for (int i = 0; i < tables->n_tables; i++)
		oids[i] = tables->tables[i].oid;
	result = oid_array(oids, tables->n_tables);
	free(oids);
	return result;
}

/*
 * compare_tables.c
 *		Matches tables, columns and keys.
 */
#include "base/fe_compat.h"

#include "base/identifier.h"
#include "base/printable.h"
#include "compare/compare_tables.h"
#include "session/session.h"

/* ----------
 * Tables
 * ----------
 */
static int
compare_names(const void *a, const void *b)
{
	return strcmp(((const CompareTable *) a)->name,
				  ((const CompareTable *) b)->name);
}

static void
add_tables(CompareTables *result, const CompareSide *side, int which)
{
	const DumpTables *tables = compare_side_plan(side)->tables;

	for (int i = 0; i < tables->n_tables; i++)
	{
		CompareTable *table = &result->tables[result->n_tables++];

		memset(table, 0, sizeof(CompareTable));
		table->name = tables->tables[i].name;
		table->no[0] = table->no[1] = -1;
		table->no[which] = i;
	}
}

/* Is it on the first side, or chosen of what the second side alone has? */
static bool
counts(const CompareTable *table, const CompareSide *second, const bool *chosen)
{
	const DumpPlan *plan = compare_side_plan(second);

	if (table->no[0] >= 0 || chosen == NULL)
		return true;
	return chosen[plan->tables->tables[table->no[1]].entry - plan->pg_dump_toc->entries];
}

/* Neighbours of one name become one, and others that do not count go. */
static void
join_tables(CompareTables *result, const CompareSide *second,
			const bool *chosen)
{
	int			n = 0;

	for (int i = 0; i < result->n_tables; i++)
	{
		CompareTable *table = &result->tables[i];
		CompareTable *last = n > 0 ? &result->tables[n - 1] : NULL;

		if (last && strcmp(last->name, table->name) == 0)
		{
			last->no[0] = Max(last->no[0], table->no[0]);
			last->no[1] = Max(last->no[1], table->no[1]);
		}
		else
			result->tables[n++] = *table;
	}
	result->n_tables = n;
	n = 0;
	for (int i = 0; i < result->n_tables; i++)
		if (counts(&result->tables[i], second, chosen))
			result->tables[n++] = result->tables[i];
	result->n_tables = n;
}

/* ----------
 * Columns
 * ----------
 */

/* Which of n columns has this name; -1 if none has. */
static int
find_column(char *const *columns, int n, const char *name)
{
	for (int i = 0; i < n; i++)
	{
		char	   *other = identifier_unquote(columns[i]);
		bool		found = strcmp(other, name) == 0;

		free(other);
		if (found)
			return i;
	}
	return -1;
}

/* The first column of one that is none of the other; or NULL. */
static const char *
missing_column(const DumpTable *table, const DumpTable *other)
{
	for (int i = 0; i < table->n_columns; i++)
	{
		char	   *name = identifier_unquote(table->columns[i]);
		int			found = find_column(other->columns, other->n_columns, name);

		free(name);
		if (found < 0)
			return table->columns[i];
	}
	return NULL;
}

/*
 * The database's columns (the first side's) in the order of the other's:
 * an archive's cannot be changed.
 */
static void
match_columns(CompareTable *table, CompareSide *const sides[2])
{
	const DumpTable *first = &compare_side_plan(sides[0])->tables->tables[table->no[0]];
	const DumpTable *second = &compare_side_plan(sides[1])->tables->tables[table->no[1]];
	const char *missing = missing_column(first, second);
	char	  **columns;

	if (missing)
		table->problem = psprintf("has column %s only in %s", printable(missing),
								  compare_side_name(sides[0]));
	else if ((missing = missing_column(second, first)) != NULL)
		table->problem = psprintf("has column %s only in %s", printable(missing),
								  compare_side_name(sides[1]));
	if (table->problem)
		return;
	columns = pg_malloc((first->n_columns + 1) * sizeof(char *));
	for (int i = 0; i < first->n_columns; i++)
	{
		char	   *name = identifier_unquote(second->columns[i]);

		columns[i] = first->columns[find_column(first->columns,
												first->n_columns, name)];
		free(name);
	}
	compare_side_set_columns(sides[0], table->no[0], columns);
}

/* ----------
 * Keys
 * ----------
 */

/* The primary key, else the shortest that is like one. */
static const char key_query[] =
"WITH chosen AS (SELECT DISTINCT ON (i.indrelid) i.indrelid, i.indkey, i.indnkeyatts"
" FROM pg_catalog.pg_index i"
" WHERE i.indrelid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])"
" AND i.indisunique AND i.indisvalid AND i.indimmediate"
" AND i.indpred IS NULL AND i.indexprs IS NULL"
" AND NOT EXISTS (SELECT"
" FROM pg_catalog.generate_series(0, i.indnkeyatts OPERATOR(pg_catalog.-) 1) k (no)"
" JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) i.indrelid"
" AND a.attnum OPERATOR(pg_catalog.=) i.indkey[k.no] WHERE NOT a.attnotnull)"
" ORDER BY i.indrelid, i.indisprimary DESC, i.indnkeyatts, i.indexrelid)"
" SELECT t.no OPERATOR(pg_catalog.-) 1, a.attname"
" FROM pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY t (oid, no)"
" JOIN chosen c ON c.indrelid OPERATOR(pg_catalog.=) t.oid"
" CROSS JOIN pg_catalog.generate_series(0, c.indnkeyatts OPERATOR(pg_catalog.-) 1) k (no)"
" JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.indrelid"
" AND a.attnum OPERATOR(pg_catalog.=) c.indkey[k.no]"
" ORDER BY t.no, k.no";

/*
 * A column of the key; one that is not dumped, as it is generated, spoils it.
 */
static void
add_key_column(CompareTable *table, const DumpTable *first, const char *name)
{
	int			n = table->n_key;

	if (n < 0)
		return;
	table->key = pg_realloc(table->key, (n + 1) * sizeof(char *));
	table->key_columns = pg_realloc(table->key_columns, (n + 1) * sizeof(int));
	table->key[n] = pg_strdup(name);
	table->key_columns[n] = find_column(first->columns, first->n_columns, name);
	table->n_key = table->key_columns[n] < 0 ? -1 : n + 1;
}

static void
find_keys(CompareTables *result, CompareSide *first)
{
	const DumpTables *tables = compare_side_plan(first)->tables;
	PGconn	   *conn = compare_side_conn(first);
	char	   *oids = dump_tables_oids(tables);
	const char *params[] = {oids};
	PGresult   *res = session_query_params(conn, key_query, 1, params, 0);

	for (int i = 0; i < PQntuples(res); i++)
	{
		int			no = session_number(res, i, 0, 0, tables->n_tables - 1);

		add_key_column(&result->tables[result->of[0][no]], &tables->tables[no],
					   PQgetvalue(res, i, 1));
	}
	PQclear(res);
	free(oids);
	for (int i = 0; i < result->n_tables; i++)
		result->tables[i].n_key = Max(result->tables[i].n_key, 0);
}

/* ----------
 * All of it
 * ----------
 */
static void
number_tables(CompareTables *result, const CompareSide *side, int which)
{
	int			n = compare_side_plan(side)->tables->n_tables;

	result->of[which] = pg_malloc((n + 1) * sizeof(int));
	for (int i = 0; i < n; i++)
		result->of[which][i] = -1;
	for (int i = 0; i < result->n_tables; i++)
		if (result->tables[i].no[which] >= 0)
			result->of[which][result->tables[i].no[which]] = i;
}

CompareTables *
compare_tables_match(CompareSide *const sides[2], const bool *chosen)
{
	CompareTables *result = pg_malloc0(sizeof(CompareTables));
	int			n = compare_side_plan(sides[0])->tables->n_tables +
		compare_side_plan(sides[1])->tables->n_tables;

	result->tables = pg_malloc((n + 1) * sizeof(CompareTable));
	for (int which = 0; which < 2; which++)
		add_tables(result, sides[which], which);
	if (result->n_tables > 0)
		qsort(result->tables, result->n_tables, sizeof(CompareTable),
			  compare_names);
	join_tables(result, sides[1], chosen);
	for (int which = 0; which < 2; which++)
		number_tables(result, sides[which], which);
	for (int i = 0; i < result->n_tables; i++)
	{
		CompareTable *table = &result->tables[i];

		if (table->no[0] < 0 || table->no[1] < 0)
			table->problem = psprintf("is only in %s",
									  compare_side_name(sides[table->no[0] < 0 ? 1 : 0]));
		else
			match_columns(table, sides);
		table->differs = table->problem != NULL;
	}
	find_keys(result, sides[0]);
	return result;
}

bool
compare_table_has_rows(const CompareTable *table)
{
	return table->problem == NULL;
}

/*
 * compare_tables.c
 *		Matches tables, columns, keys and positions of sequences of two sides.
 *
 * Tables are matched by their names, qualified and quoted as in pg_dump.
 * After a copy or a restore, the name of the table into which rows are loaded
 * is used, because a partition's rows may have been loaded through its root:
 * then all tables with this name are compared as one.
 *
 * Columns are matched by name, and read in the same order on both sides,
 * because rows are compared as lines of text.  Keys are only used to
 * distinguish changed rows from missing ones.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/identifier.h"
#include "compare/compare_tables.h"

/* ----------
 * Tables
 * ----------
 */

/* The name for the comparison; owned, because it is needed until the end. */
static char *
name_of(const DumpTable *table, bool loaded)
{
	return loaded ? compare_lookup_load_name(table) : pg_strdup(table->name);
}

static void
add_tables(CompareTables *result, const CompareSide *side, int which,
		   bool loaded)
{
	const DumpTables *tables = side->plan->tables;

	for (int i = 0; i < tables->n_tables; i++)
	{
		CompareTable *table = &result->tables[result->n_tables];

		if (loaded && tables->tables[i].relkind == RELKIND_FOREIGN_TABLE)
			continue;
		memset(table, 0, sizeof(CompareTable));
		table->name = name_of(&tables->tables[i], loaded);
		table->no[0] = table->no[1] = -1;
		table->no[which] = i;
		result->n_tables++;
	}
}

/*
 * Does the table count?  It does if the first side has it, or if only the
 * second has it and it was selected.
 */
static bool
counts(const CompareTable *table, const CompareSide *second, const bool *chosen)
{
	const DumpPlan *plan = second->plan;

	if (table->no[0] >= 0 || chosen == NULL)
		return true;
	return chosen[plan->tables->tables[table->no[1]].entry - plan->pg_dump_toc->entries];
}

/*
 * Join tables with the same name, which are adjacent in the sorted list.
 * Then remove tables that only the second side has and that were not
 * selected.
 */
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

/* The first column of one table that the other lacks, or NULL. */
static const char *
missing_column(const DumpTable *table, const DumpTable *other)
{
	for (int i = 0; i < table->n_columns; i++)
		if (identifier_find(other->columns, other->n_columns,
							identifier_unquote(table->columns[i])) < 0)
			return table->columns[i];
	return NULL;
}

/*
 * Returns the reason why the rows cannot be compared, or NULL; the caller
 * owns it.
 */
static char *
describe_missing(const char *name, const DumpTable *table,
				 const DumpTable *other, const char *side,
				 const char *other_side)
{
	const char *missing = missing_column(table, other);

	if (missing)
		return psprintf("table %s has column %s only in %s", printable(name),
						printable(missing), side);
	missing = missing_column(other, table);
	if (missing)
		return psprintf("table %s has column %s only in %s", printable(name),
						printable(missing), other_side);
	return NULL;
}

/*
 * The columns of a table in the order of another one, which has the same
 * columns.
 */
static char **
ordered_columns(const DumpTable *table, const DumpTable *order)
{
	char	  **columns = pg_malloc((table->n_columns + 1) * sizeof(char *));

	for (int i = 0; i < table->n_columns; i++)
	{
		char	   *name = identifier_unquote(order->columns[i]);

		columns[i] = table->columns[identifier_find(table->columns,
													table->n_columns, name)];
	}
	return columns;
}

/*
 * Sort the columns of a side in the order of the second side's first table
 * with that name: an archive's order cannot be changed, and an archive is
 * always the second side.
 */
static void
match_columns(CompareTables *result, CompareSide *const sides[2], int which)
{
	const DumpTables *tables = sides[which]->plan->tables;
	const DumpTables *second = sides[1]->plan->tables;

	for (int i = 0; i < tables->n_tables; i++)
	{
		CompareTable *table = result->of[which][i] < 0 ? NULL :
			&result->tables[result->of[which][i]];
		const DumpTable *first;

		if (table == NULL || table->problem)
			continue;
		first = &second->tables[table->no[1]];
		if (first == &tables->tables[i])
			continue;
		table->problem = describe_missing(table->name, &tables->tables[i],
										  first, sides[which]->name,
										  sides[1 - which]->name);
		if (table->problem == NULL)
			/* From now on, the plan is only used for this comparison. */
			sides[which]->plan->tables->tables[i].columns =
				ordered_columns(&tables->tables[i], first);
	}
}

/* ----------
 * Keys
 * ----------
 */

/* The primary key, otherwise the shortest equivalent unique index. */
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
 * Note a column of the key.  A generated column is not dumped, so a key that
 * contains one cannot be read from the rows: then the table has no key.
 */
static void
add_key_column(CompareTable *table, const DumpTable *first, const char *name)
{
	int			n = table->n_key;

	if (n < 0)
		return;
	table->key = array_room(table->key, n, sizeof(char *));
	table->key_columns = array_room(table->key_columns, n, sizeof(int));
	table->key[n] = pg_strdup(name);
	table->key_columns[n] = identifier_find(first->columns, first->n_columns, name);
	table->n_key = table->key_columns[n] < 0 ? -1 : n + 1;
}

static void
find_keys(CompareTables *result, CompareSide *first)
{
	const DumpTables *tables = first->plan->tables;
	PGconn	   *conn = first->source->conn;
	const char *params[] = {dump_tables_oids(tables)};
	PGresult   *res = session_query_params(conn, key_query, 1, params, 0);
	int		   *n_parts = pg_malloc0((result->n_tables + 1) * sizeof(int));

	for (int i = 0; i < tables->n_tables; i++)
		if (result->of[0][i] >= 0)
			n_parts[result->of[0][i]]++;
	for (int i = 0; i < PQntuples(res); i++)
	{
		int			no = session_number(res, i, 0, 0, tables->n_tables - 1);

		/* The key of one of several partitions need not be unique in all. */
		if (result->of[0][no] >= 0 && n_parts[result->of[0][no]] == 1)
			add_key_column(&result->tables[result->of[0][no]],
						   &tables->tables[no], PQgetvalue(res, i, 1));
	}
	PQclear(res);
	for (int i = 0; i < result->n_tables; i++)
		result->tables[i].n_key = Max(result->tables[i].n_key, 0);
}

/* ----------
 * The tables of both sides
 * ----------
 */
static void
number_tables(CompareTables *result, const CompareSide *side, int which,
			  bool loaded)
{
	const DumpTables *tables = side->plan->tables;

	result->of[which] = pg_malloc((tables->n_tables + 1) * sizeof(int));
	for (int i = 0; i < tables->n_tables; i++)
	{
		const char *name = name_of(&tables->tables[i], loaded);
		const CompareTable *found = NULL;

		if (result->n_tables > 0)
			found = bsearch(&name, result->tables, result->n_tables,
							sizeof(CompareTable), compare_strings);
		result->of[which][i] = found ? (int) (found - result->tables) : -1;
	}
}

CompareTables *
compare_tables_match(CompareSide *const sides[2], const bool *chosen,
					 bool loaded)
{
	CompareTables *result = pg_malloc0(sizeof(CompareTables));
	int			n = sides[0]->plan->tables->n_tables +
		sides[1]->plan->tables->n_tables;

	result->tables = pg_malloc((n + 1) * sizeof(CompareTable));
	for (int which = 0; which < 2; which++)
		add_tables(result, sides[which], which, loaded);
	if (result->n_tables > 0)
		qsort(result->tables, result->n_tables, sizeof(CompareTable),
			  compare_strings);
	join_tables(result, sides[1], chosen);
	for (int which = 0; which < 2; which++)
		number_tables(result, sides[which], which, loaded);
	for (int i = 0; i < result->n_tables; i++)
	{
		CompareTable *table = &result->tables[i];

		if (table->no[0] < 0 || table->no[1] < 0)
			table->problem = psprintf("table %s is only in %s",
									  printable(table->name),
									  sides[table->no[0] < 0 ? 1 : 0]->name);
	}
	for (int which = 0; which < 2; which++)
		match_columns(result, sides, which);
	for (int i = 0; i < result->n_tables; i++)
		result->tables[i].differs = result->tables[i].problem != NULL;
	find_keys(result, sides[0]);
	return result;
}

/* ----------
 * Positions of sequences
 * ----------
 */

/*
 * Parse the position that pg_dump has read, in the statement that sets it
 * (dumpSequenceData): ...  pg_catalog.setval('name', position, is_called);
 */
static void
read_position(const TocEntry *entry, SequencePosition *result)
{
	const char *statement = entry->defn;
	const char *last = statement ? strrchr(statement, ',') : NULL;
	const char *before = last;

	while (before && before > statement && *--before != ',')
		;
	if (last == NULL || *before != ',')
		toc_reject_pg_dump(psprintf("The value of sequence \"%s\" is missing.",
									printable(entry->tag)));
	result->position = strtoll(before + 1, NULL, 10);
	result->is_called = strncmp(last, ", true", 6) == 0;
}

static int
compare_sequences(const void *a, const void *b)
{
	const SequencePosition *s1 = a;
	const SequencePosition *s2 = b;
	int			by_schema = strcmp(s1->schema, s2->schema);

	return by_schema != 0 ? by_schema : strcmp(s1->name, s2->name);
}

SequencePositions *
compare_positions_of_toc(const Toc *toc, const bool *chosen)
{
	SequencePositions *result = pg_malloc0(sizeof(SequencePositions));

	result->sequences = pg_malloc((toc->n_entries + 1) * sizeof(SequencePosition));
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		SequencePosition *sequence = &result->sequences[result->n];

		if (!toc_entry_is(entry, "SEQUENCE SET"))
			continue;
		sequence->schema = entry->namespace ? entry->namespace : "";
		sequence->name = entry->tag;
		sequence->chosen = chosen == NULL || chosen[i];
		read_position(entry, sequence);
		result->n++;
	}
	if (result->n > 0)
		qsort(result->sequences, result->n, sizeof(SequencePosition),
			  compare_sequences);
	return result;
}

/*
 * One row per name, in the order of the array.  The condition prevents a
 * query of a view.
 */
static const char sequences_query[] =
"SELECT EXISTS (SELECT FROM pg_catalog.pg_class c"
" WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(t.name)::pg_catalog.oid"
" AND c.relkind OPERATOR(pg_catalog.=) 'S'::pg_catalog.\"char\")"
" FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY t (name, no)"
" ORDER BY t.no";

/*
 * The positions on a target.  to_regclass() and relkind are queried first,
 * because the name may belong to a view by now, whose query would be run.
 */
SequencePositions *
compare_positions_of_database(PGconn *conn, const Toc *toc)
{
	SequencePositions *result = compare_positions_of_toc(toc, NULL);
	int			n = result->n;
	char	  **names = pg_malloc((n + 1) * sizeof(char *));
	const char *params[1];
	PGresult   *res;

	for (int i = 0; i < n; i++)
		names[i] = pg_strdup(fmtQualifiedId(result->sequences[i].schema,
											result->sequences[i].name));
	params[0] = text_array(conn, names, n);
	res = session_query_params(conn, sequences_query, 1, params, 0);
	result->n = 0;
	for (int i = 0; i < n; i++)
	{
		SequencePosition *sequence = &result->sequences[result->n];
		PGresult   *position;

		if (!result_is_true(res, i, 0))
			continue;
		position = session_query(conn, psprintf("SELECT last_value, is_called FROM %s", names[i]));
		*sequence = result->sequences[i];
		sequence->position = strtoll(PQgetvalue(position, 0, 0), NULL, 10);
		sequence->is_called = result_is_true(position, 0, 1);
		result->n++;
		PQclear(position);
	}
	PQclear(res);
	return result;
}

/* Describe how the positions of a pair differ; owned. */
static char *
describe_positions(const SequencePosition *const pair[2],
				   const char *const names[2])
{
	if (pair[0]->position == pair[1]->position)
		return psprintf("value of is_called: %s in %s, %s in %s",
						pair[0]->is_called ? "true" : "false", names[0],
						pair[1]->is_called ? "true" : "false", names[1]);
	return psprintf("last value: " INT64_FORMAT " in %s, " INT64_FORMAT " in %s",
					pair[0]->position, names[0], pair[1]->position, names[1]);
}

/*
 * Find the pairs in one pass over both sorted lists.  Returns how many
 * differ; *n is the number of all.  Each difference is passed to the
 * callback.
 */
int
compare_positions(SequencePositions *const of[2], const char *const names[2],
				  int *n, void (*report) (const void *arg, const char *what, const char *fact),
				  const void *arg)
{
	const SequencePosition *at[2] = {of[0]->sequences, of[1]->sequences};
	const SequencePosition *const stop[2] = {at[0] + of[0]->n, at[1] + of[1]->n};
	int			n_different = 0;

	for (*n = 0; at[0] < stop[0] || at[1] < stop[1]; ++*n)
	{
		const SequencePosition *pair[2] = {at[0], at[1]};
		int			order = at[0] == stop[0] ? 1 : at[1] == stop[1] ? -1 :
			compare_sequences(at[0], at[1]);
		int			alone = order < 0 ? 0 : 1;
		const char *name;
		char	   *text;
		char	   *fact;

		at[0] += order <= 0;
		at[1] += order >= 0;
		if (order > 0 && !pair[1]->chosen)
		{
			--*n;
			continue;
		}
		if (order == 0 && pair[0]->position == pair[1]->position &&
			pair[0]->is_called == pair[1]->is_called)
			continue;
		n_different++;
		name = printable(fmtQualifiedId(pair[alone]->schema, pair[alone]->name));
		text = order == 0 ? psprintf("sequence %s differs", name) :
			psprintf("sequence %s is only in %s", name, names[alone]);
		fact = order == 0 ? describe_positions(pair, names) : NULL;
		report(arg, text, fact);
	}
	return n_different;
}

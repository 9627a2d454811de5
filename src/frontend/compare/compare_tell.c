/*
 * compare_tell.c
 *		Writes the results of a comparison, to standard output.
 */
#include "base/fe_compat.h"

#include "base/event_log.h"
#include "base/printable.h"
#include "base/run_clock.h"
#include "base/units.h"
#include "compare/compare_tell.h"

void
compare_tell_line(const char *line)
{
	message_before_output();
	fprintf(event_log_text_output(), "%s\n", line);
}

void
compare_tell_run(CompareSide *const sides[2], const CompareTables *tables,
				 const Options *options)
{
	Event	   *event = event_new("run");
	const DumpPlan *plan = compare_side_plan(sides[0]);
	const DumpPlan *other = compare_side_plan(sides[1]);

	event_add_text(event, "version", PARDUMP_VERSION);
	event_add_text(event, "database", plan->origin->database);
	if (compare_side_is_archive(sides[1]))
		event_add_text(event, "archive", options->compare_with);
	else
		event_add_text(event, "other_database", other->origin->database);
	event_add_number(event, "jobs", options->jobs);
	event_add_number(event, "tables", tables->n_tables);
	event_add_number(event, "chunks",
					 plan->chunks->n_files + other->chunks->n_files);
	event_add_number(event, "large_objects", plan->objects->n_objects);
	event_write(event);
}

/* ----------
 * Tables
 * ----------
 */

/* From which on all is known of rows and of keys. */
static int
least_level(const CompareTable *table)
{
	return table->n_key == 0 ? table->rows.least_level :
		Max(table->rows.least_level, table->keys.least_level);
}

/* How many rows are of each kind, in the same part of all rows. */
static void
count_kinds(const CompareTable *table, uint64 counts[N_ROW_KINDS])
{
	int			level = least_level(table);
	uint64		first = difference_count(&table->rows, true, level);

	counts[ROW_CHANGED] = 0;
	counts[ROW_ONLY_FIRST] = first;
	counts[ROW_ONLY_SECOND] = difference_count(&table->rows, false, level);
	if (table->n_key == 0)
		return;
	counts[ROW_ONLY_FIRST] = difference_count(&table->keys, true, level);
	counts[ROW_ONLY_SECOND] = difference_count(&table->keys, false, level);
	if (first > counts[ROW_ONLY_FIRST])
		counts[ROW_CHANGED] = first - counts[ROW_ONLY_FIRST];
}

static bool
is_exact(const CompareTable *table)
{
	return least_level(table) == 0;
}

/* "2 rows have other values, about 5 rows only in the database" */
static void
append_counts(PQExpBuffer buf, CompareSide *const sides[2],
			  const CompareTable *table)
{
	const char *about = is_exact(table) ? "" : "about ";
	const char *before = ": ";
	uint64		counts[N_ROW_KINDS];

	count_kinds(table, counts);
	for (int kind = 0; kind < N_ROW_KINDS; kind++)
	{
		uint64		n = counts[kind];

		if (n == 0)
			continue;
		appendPQExpBuffer(buf, "%s%s" UINT64_FORMAT " row%s ", before, about, n,
						  units_plural(n));
		if (kind == ROW_CHANGED)
			appendPQExpBuffer(buf, "with other values");
		else
			appendPQExpBuffer(buf, "only in %s",
							  compare_side_name(sides[kind == ROW_ONLY_SECOND]));
		before = ", ";
	}
}

static void
tell_shown(CompareSide *const sides[2], const CompareTable *table,
		   const CompareRows *rows)
{
	ShownRows  *shown = compare_rows_shown(rows, table);
	uint64		counts[N_ROW_KINDS];

	count_kinds(table, counts);
	for (int kind = 0; kind < N_ROW_KINDS; kind++)
	{
		for (int i = 0; i < shown->n[kind]; i++)
		{
			char	   *line = psprintf("  %s%s: %s",
										kind == ROW_CHANGED ? "other values" : "only in ",
										kind == ROW_CHANGED ? "" :
										compare_side_name(sides[kind == ROW_ONLY_SECOND]),
										printable(shown->text[kind][i]));

			compare_tell_line(line);
			free(line);
		}
		if (shown->n[kind] > 0 && counts[kind] > (uint64) shown->n[kind])
			compare_tell_line("  ...");
	}
	free(shown);
}

static void
note_table(const CompareTable *table)
{
	Event	   *event = event_new("compared");
	uint64		counts[N_ROW_KINDS];

	event_add_text(event, "table", table->name);
	event_add_text(event, "result", table->differs ? "different" : "equal");
	event_add_text(event, "problem", table->problem);
	if (compare_table_has_rows(table))
	{
		event_add_number(event, "rows", table->sums[0].rows);
		event_add_number(event, "other_rows", table->sums[1].rows);
	}
	if (table->is_counted)
	{
		count_kinds(table, counts);
		event_add_text(event, "counted", is_exact(table) ? "exactly" : "about");
		event_add_number(event, "changed", counts[ROW_CHANGED]);
		event_add_number(event, "only_here", counts[ROW_ONLY_FIRST]);
		event_add_number(event, "only_there", counts[ROW_ONLY_SECOND]);
	}
	event_write(event);
}

static void
tell_table(CompareSide *const sides[2], const CompareTable *table)
{
	PQExpBufferData line;

	initPQExpBuffer(&line);
	appendPQExpBuffer(&line, "table %s ", printable(table->name));
	if (table->problem)
		appendPQExpBufferStr(&line, table->problem);
	else if (!table->differs)
		appendPQExpBuffer(&line, "is equal, " UINT64_FORMAT " row%s",
						  table->sums[0].rows,
						  units_plural(table->sums[0].rows));
	else
	{
		appendPQExpBufferStr(&line, "differs");
		if (table->is_counted)
			append_counts(&line, sides, table);
		appendPQExpBuffer(&line, " (" UINT64_FORMAT " and " UINT64_FORMAT " rows)",
						  table->sums[0].rows, table->sums[1].rows);
	}
	compare_tell_line(line.data);
	termPQExpBuffer(&line);
}

void
compare_tell_tables(CompareSide *const sides[2], const CompareTables *tables,
					const CompareRows *rows)
{
	int			n_uncounted = 0;

	for (int i = 0; i < tables->n_tables; i++)
	{
		const CompareTable *table = &tables->tables[i];

		note_table(table);
		tell_table(sides, table);
		if (table->is_counted)
			tell_shown(sides, table, rows);
		else if (table->differs && compare_table_has_rows(table))
			n_uncounted++;
	}
	if (n_uncounted > 0)
	{
		pg_log_warning("of %d table%s the rows that differ were not counted, for want of memory",
					   n_uncounted, units_plural(n_uncounted));
		pg_log_warning_hint("Choose some of them by -t.");
	}
}

/* ----------
 * All else
 * ----------
 */
int
compare_tell_objects(CompareSide *const sides[2], const ObjectSum objects[2])
{
	bool		same = memcmp(&objects[0], &objects[1], sizeof(ObjectSum)) == 0;
	char	   *line;

	if (objects[0].objects == 0 && objects[1].objects == 0)
		return 0;
	if (same)
		line = psprintf("large objects are equal, " UINT64_FORMAT,
						objects[0].objects);
	else if (objects[0].objects == objects[1].objects)
		line = psprintf("large objects differ (" UINT64_FORMAT " on each side)",
						objects[0].objects);
	else
		line = psprintf("large objects differ (" UINT64_FORMAT " in %s, " UINT64_FORMAT " in %s)",
						objects[0].objects, compare_side_name(sides[0]),
						objects[1].objects, compare_side_name(sides[1]));
	compare_tell_line(line);
	free(line);
	return same ? 0 : 1;
}

void
compare_tell_sum(const CompareTables *tables, int n_sequences,
				 const ObjectSum objects[2], int n_different)
{
	Event	   *event = event_new("summary");
	uint64		rows[2] = {0, 0};
	char	   *line;

	for (int i = 0; i < tables->n_tables; i++)
		for (int side = 0; side < 2; side++)
			rows[side] += tables->tables[i].sums[side].rows;
	event_add_number(event, "tables", tables->n_tables);
	event_add_number(event, "sequences", n_sequences);
	event_add_number(event, "large_objects", objects[0].objects);
	event_add_number(event, "rows", rows[0]);
	event_add_number(event, "other_rows", rows[1]);
	event_add_seconds(event, "seconds", run_clock_seconds());
	event_add_number(event, "differences", n_different);
	event_write(event);
	line = psprintf("compared %d table%s, %d sequence%s, " UINT64_FORMAT " large object%s, " UINT64_FORMAT " and " UINT64_FORMAT " rows: %d difference%s",
					tables->n_tables, units_plural(tables->n_tables),
					n_sequences, units_plural(n_sequences),
					objects[0].objects, units_plural(objects[0].objects),
					rows[0], rows[1], n_different, units_plural(n_different));
	compare_tell_line(line);
	free(line);
}

/*
 * compare.c
 *		The main path of a comparison: two sides, their tables, their rows.
 *
 * Both snapshots are taken before any row is read.  Then one side is read
 * after the other, by all workers.
 *
 * The command compares two databases, or a database and an archive, and
 * writes a line about each table to standard output.  After a copy or a
 * restore the two sides are what was read and what was loaded; each
 * difference is an error message.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/identifier.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "compare/compare.h"
#include "compare/compare_rows.h"
#include "compare/compare_selection.h"
#include "session/session_settings.h"
#include "source/leader.h"

/* The last line names this many tables that differ. */
#define NAMES_SHOWN 5

typedef struct Comparison
{
	/* exit callbacks and workers use them until the process ends */
	CompareSide *sides[2];
	bool		loaded;			/* the second side from the first; else it is
								 * the command */
	const bool *chosen;			/* see compare_tables_match() */
	bool		with_objects;
	bool		shows_equal;	/* with -v: also what does not differ */

	/* What has come of it */
	CompareTables *tables;
	CompareRows *rows;
	ObjectSum	objects[2];
	SequencePositions *positions[2];
	int			n_sequences;
	int			n_different;	/* places */
	uint64		bytes;			/* of the rows of both sides */
} Comparison;

/* ----------
 * Results
 * ----------
 */

/*
 * The command's results are its output, so they go to standard output.  After
 * a copy or a restore a difference is an error of that run, and goes to
 * standard error like all errors.
 */
static void
report_line(const Comparison *comparison, const char *line)
{
	if (comparison->loaded)
	{
		pg_log_error("%s", line);
		return;
	}
	message_before_output();
	fprintf(event_log_text_output(), "%s\n", line);
}

/* A fact below the line before; it begins in lower case. */
static void
report_fact(const Comparison *comparison, const char *fact)
{
	if (comparison->loaded)
		pg_log_error_detail("%s", message_sentence(fact));
	else
		fprintf(event_log_text_output(), "  %s\n", fact);
}

static void
note_run(const Comparison *comparison, const Options *options)
{
	Event	   *event = event_new("run");
	const DumpPlan *plan = comparison->sides[0]->plan;
	const DumpPlan *other = comparison->sides[1]->plan;

	event_add_text(event, "version", PARDUMP_VERSION);
	event_add_text(event, "database", plan->origin->database);
	if (comparison->sides[1]->archive)
		event_add_text(event, "archive", options->compare_with);
	else
		event_add_text(event, "other_database", other->origin->database);
	event_add_number(event, "jobs", options->jobs);
	event_add_number(event, "tables", comparison->tables->n_tables);
	event_add_number(event, "chunks",
					 plan->chunks->n_files + other->chunks->n_files);
	event_add_number(event, "large_objects", plan->objects->n_objects);
	event_write(event);
}

/*
 * From which level on the sketches of rows and of keys could both be read
 * (difference_sketch.c).  0 means everything is known.
 */
static int
least_level(const CompareTable *table)
{
	return table->n_key == 0 ? table->rows.least_level :
		Max(table->rows.least_level, table->keys.least_level);
}

/*
 * How many rows are of each kind, extrapolated from the same levels of both
 * sketches.  A row whose key is on both sides has other values: so the
 * changed rows are those that only the first side has, less those whose keys
 * only the first side has.
 */
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

/* "only in database "shop": 2 rows"; owned. */
static char *
describe_kind(const Comparison *comparison, RowKind kind, uint64 n,
			  bool is_counted_exactly)
{
	const CompareSide *side = comparison->sides[kind == ROW_ONLY_SECOND];

	if (kind == ROW_CHANGED)
		return psprintf(is_counted_exactly ?
						ngettext("different values: %s row",
								 "different values: %s rows", n) :
						ngettext("different values: about %s row",
								 "different values: about %s rows", n),
						units_count(n));
	return psprintf(is_counted_exactly ?
					ngettext("only in %s: %s row", "only in %s: %s rows", n) :
					ngettext("only in %s: about %s row",
							 "only in %s: about %s rows", n),
					side->name, units_count(n));
}

/* The first rows of a kind, or their keys: in lines, or in one detail. */
static void
report_rows(const Comparison *comparison, const CompareTable *table,
			const ShownRows *shown, RowKind kind, bool all_shown)
{
	bool		loaded = comparison->loaded;
	PQExpBufferData rows = buffer_new();

	appendPQExpBufferStr(&rows, table->n_key > 0 ?
						 (all_shown ? "keys:" : "some of the keys:") :
						 (all_shown ? "values:" : "some of the values:"));
	for (int i = 0; i < shown->n[kind]; i++)
		appendPQExpBuffer(&rows, "%s%s",
						  !loaded ? "\n    " : i > 0 ? "; " : " ",
						  printable(shown->text[kind][i]));
	report_fact(comparison, buffer_text(&rows));
}

static void
report_kinds(const Comparison *comparison, const CompareTable *table)
{
	ShownRows  *shown = compare_rows_shown(comparison->rows, table);
	uint64		counts[N_ROW_KINDS];

	count_kinds(table, counts);
	for (int kind = 0; kind < N_ROW_KINDS; kind++)
	{
		if (counts[kind] == 0)
			continue;
		report_fact(comparison, describe_kind(comparison, kind, counts[kind],
											  is_exact(table)));
		if (shown->n[kind] > 0)
			report_rows(comparison, table, shown, kind,
						counts[kind] <= (uint64) shown->n[kind]);
	}
}

static void
note_table(const CompareTable *table)
{
	Event	   *event = event_new("compared");
	uint64		counts[N_ROW_KINDS];

	event_add_text(event, "table", table->name);
	event_add_text(event, "result", table->differs ? "different" : "equal");
	event_add_text(event, "problem", table->problem);
	if (table->problem == NULL)
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
report_table(const Comparison *comparison, const CompareTable *table)
{
	const RowSum *sums = table->sums;
	char	   *line;

	if (table->problem)
		line = pg_strdup(table->problem);
	else if (!table->differs)
		line = psprintf(ngettext("table %s is equal (%s row)",
								 "table %s is equal (%s rows)", sums[0].rows),
						printable(table->name), units_count(sums[0].rows));
	else
		line = psprintf("table %s differs", printable(table->name));
	report_line(comparison, line);
	if (table->problem || !table->differs)
		return;
	line = sums[0].rows == sums[1].rows ?
		psprintf("rows: %s in each", units_count(sums[0].rows)) :
		psprintf("rows: %s in %s, %s in %s",
				 units_count(sums[0].rows), comparison->sides[0]->name,
				 units_count(sums[1].rows), comparison->sides[1]->name);
	report_fact(comparison, line);
}

/*
 * A line for each table that differs, and its rows.  What is equal comes
 * before, so that the differences are not hidden between other lines.
 */
static void
report_tables(Comparison *comparison)
{
	const CompareTables *tables = comparison->tables;
	int			n_uncounted = 0;

	for (int i = 0; i < tables->n_tables; i++)
	{
		const CompareTable *table = &tables->tables[i];

		if (!comparison->loaded)
			note_table(table);
		if (!table->differs && comparison->shows_equal)
			report_table(comparison, table);
	}
	for (int i = 0; i < tables->n_tables; i++)
	{
		const CompareTable *table = &tables->tables[i];

		if (!table->differs)
			continue;
		comparison->n_different++;
		report_table(comparison, table);
		if (table->is_counted)
			report_kinds(comparison, table);
		else if (table->problem == NULL)
			n_uncounted++;
	}
	if (n_uncounted > 0)
	{
		pg_log_warning(ngettext("the differing rows of %d table were not counted, because of insufficient memory",
								"the differing rows of %d tables were not counted, because of insufficient memory",
								n_uncounted), n_uncounted);
		if (!comparison->loaded)
			pg_log_warning_hint("Use -t to compare fewer tables at a time.");
	}
}

static void
report_objects(Comparison *comparison)
{
	const ObjectSum *objects = comparison->objects;
	bool		same = memcmp(&objects[0], &objects[1], sizeof(ObjectSum)) == 0;
	char	   *line;

	if (objects[0].objects == 0 && objects[1].objects == 0)
		return;
	if (same)
		line = psprintf("large objects are equal (%s)",
						units_count(objects[0].objects));
	else if (objects[0].objects == objects[1].objects)
		line = psprintf("large objects differ: %s in each, with different OIDs or contents",
						units_count(objects[0].objects));
	else
		line = psprintf("large objects differ: %s in %s, %s in %s",
						units_count(objects[0].objects), comparison->sides[0]->name,
						units_count(objects[1].objects), comparison->sides[1]->name);
	if (!same || comparison->shows_equal)
		report_line(comparison, line);
	comparison->n_different += !same;
}

static void
compare_report_sequence(const void *arg, const char *what, const char *fact)
{
	report_line(arg, what);
	if (fact)
		report_fact(arg, fact);
}

/* "differences found: 1 table (public.a), 1 sequence"; owned. */
static char *
describe_differences(const Comparison *comparison)
{
	const CompareTables *tables = comparison->tables;
	const ObjectSum *objects = comparison->objects;
	bool		of_objects = memcmp(&objects[0], &objects[1], sizeof(ObjectSum)) != 0;
	int			n_tables = 0;
	int			n_sequences;
	PQExpBufferData names = buffer_new();
	PQExpBufferData list = buffer_new();

	for (int i = 0; i < tables->n_tables; i++)
		if (tables->tables[i].differs && n_tables++ < NAMES_SHOWN)
			units_names_add(&names, tables->tables[i].name);
	n_sequences = comparison->n_different - n_tables - of_objects;
	if (n_tables > 0)
		units_list_add(&list, psprintf(ngettext("%d table (%s)", "%d tables (%s)",
												n_tables), n_tables,
									   units_names(names.data, n_tables, NAMES_SHOWN)));
	if (n_sequences > 0)
		units_list_add(&list, psprintf(ngettext("%d sequence", "%d sequences",
												n_sequences), n_sequences));
	if (of_objects)
		units_list_add(&list, "large objects");
	return psprintf("differences found: %s", buffer_text(&list));
}

/* The number of rows of all tables on a side. */
static uint64
count_rows(const CompareTables *tables, int side)
{
	uint64		rows = 0;

	for (int i = 0; i < tables->n_tables; i++)
		rows += tables->tables[i].sums[side].rows;
	return rows;
}

/*
 * "2 tables, 1 sequence, 20,100 rows", or, if the numbers of rows differ,
 * "20,100 and 20,099 rows"; owned.
 */
static char *
describe_compared(const Comparison *comparison)
{
	const CompareTables *tables = comparison->tables;
	int			n_sequences = comparison->n_sequences;
	uint64		n_objects = comparison->objects[0].objects;
	uint64		rows[] = {count_rows(tables, 0), count_rows(tables, 1)};
	PQExpBufferData list = buffer_new();

	units_list_add(&list, psprintf(ngettext("%d table", "%d tables", tables->n_tables),
								   tables->n_tables));
	if (n_sequences > 0)
		units_list_add(&list, psprintf(ngettext("%d sequence", "%d sequences",
												n_sequences), n_sequences));
	if (n_objects > 0)
		units_list_add(&list, psprintf(ngettext("%s large object", "%s large objects",
												n_objects), units_count(n_objects)));
	if (rows[1] != rows[0])
		units_list_add(&list, psprintf("%s and %s rows", units_count(rows[0]),
									   units_count(rows[1])));
	else
		units_list_add(&list, psprintf(ngettext("%s row", "%s rows", rows[0]),
									   units_count(rows[0])));
	return list.data;
}

/* The last lines of the command. */
static void
report_sum(const Comparison *comparison)
{
	const CompareTables *tables = comparison->tables;
	const ObjectSum *objects = comparison->objects;
	int			n_sequences = comparison->n_sequences;
	int			n_different = comparison->n_different;
	Event	   *event = event_new("summary");
	char	   *line;

	event_add_number(event, "tables", tables->n_tables);
	event_add_number(event, "sequences", n_sequences);
	event_add_number(event, "large_objects", objects[0].objects);
	event_add_number(event, "rows", count_rows(tables, 0));
	event_add_number(event, "other_rows", count_rows(tables, 1));
	event_add_seconds(event, "seconds", run_clock_seconds());
	event_add_number(event, "differences", n_different);
	event_write(event);
	line = psprintf("compared %s with %s:", comparison->sides[0]->name,
					comparison->sides[1]->name);
	report_line(comparison, line);
	free(line);
	line = psprintf("%s, %s read from both in %s", describe_compared(comparison),
					units_size(comparison->bytes),
					units_elapsed(run_clock_seconds()));
	report_fact(comparison, line);
	line = n_different == 0 ? pg_strdup("no differences found") :
		describe_differences(comparison);
	report_line(comparison, line);
}

/* ----------
 * The main path, once both sides are open
 * ----------
 */

/*
 * Read each side once.  Only if sums differ are the tables that differ read
 * again, twice: to find out which rows differ, and to show some of them.
 */
static void
compare_rows(Comparison *comparison)
{
	if (!comparison->loaded)
		run_event_stage("rows");
	comparison->rows = compare_rows_sum(comparison->sides, comparison->tables,
										comparison->with_objects,
										comparison->objects);
	for (int i = 0; i < 2; i++)
		comparison->bytes += file_results_total(comparison->sides[i]->run.results).raw_bytes;
	if (!compare_rows_differ(comparison->rows))
		return;
	if (!comparison->loaded)
		run_event_stage("differences");
	compare_rows_count(comparison->rows);
}

static void
close_sides(Comparison *comparison)
{
	for (int i = 0; i < 2; i++)
		compare_side_close(comparison->sides[i]);
	interrupt_set_connection(NULL);
}

static void
compare_report(Comparison *comparison)
{
	const char *const names[] = {
		comparison->sides[0]->name,
		comparison->sides[1]->name
	};

	report_tables(comparison);
	comparison->n_different +=
		compare_positions(comparison->positions, names,
						  &comparison->n_sequences, compare_report_sequence, comparison);
	report_objects(comparison);
}

/* ----------
 * The command
 * ----------
 */

/*
 * A path that exists is an archive, and so is any other text with a slash,
 * unless libpq takes the text for a connection string (which may have
 * slashes, too).
 */
static bool
is_archive(const char *compare_with)
{
	struct stat st;

	if (identifier_is_conninfo(compare_with))
		return false;
	return stat(compare_with, &st) == 0 || strchr(compare_with, '/') != NULL;
}

/* By its server, too, if both databases have the same name. */
static const char *
database_name(const CompareSide *side, bool with_server)
{
	const char *name = printable(side->plan->origin->database);
	PGconn	   *conn = side->source->conn;

	return with_server ?
		psprintf("database \"%s\" on \"%s\"", name, connection_server_name(conn)) :
		psprintf("database \"%s\"", name);
}

/* What results call the sides, once both are open. */
static void
name_sides(CompareSide *const sides[2])
{
	bool		are_alike = sides[1]->archive == NULL &&
		strcmp(sides[0]->plan->origin->database,
			   sides[1]->plan->origin->database) == 0;

	for (int i = 0; i < 2; i++)
		sides[i]->name = sides[i]->archive == NULL ?
			database_name(sides[i], are_alike) :
			psprintf("archive \"%s\"", printable(sides[i]->options->compare_with));
}

/* How to connect is all that is different. */
static Options *
other_options(const Options *options)
{
	Options    *result = pg_malloc(sizeof(Options));

	*result = *options;
	memset(&result->connection, 0, sizeof(result->connection));
	result->connection.dbname = pg_strdup(options->compare_with);
	result->connection.prompt_password = options->connection.prompt_password;
	result->password_command = options->target_password_command;
	result->snapshot = NULL;
	return result;
}

/*
 * The second side decides the encoding if it is an archive, because its rows
 * are in it already; a database can convert its rows.  The settings that
 * affect how values are written are made alike only between two databases,
 * since an archive's cannot be changed.
 */
static void
open_sides(const Options *options, const char *argv0, CompareSide *sides[2])
{
	if (is_archive(options->compare_with))
	{
		sides[1] = compare_side_open_archive(options);
		sides[0] = compare_side_open_database(options, argv0,
											  sides[1]->plan->encoding);
		return;
	}
	sides[0] = compare_side_open_database(options, argv0, NULL);
	sides[1] = compare_side_open_database(other_options(options), argv0,
										  sides[0]->plan->encoding);
	for (int i = 0; i < 2; i++)
		sides[i]->alike = true;
}

/*
 * That nothing was compared must not look as if it were equal.  Two databases
 * that are empty are, if nothing was left out.
 */
static void
refuse_nothing(const Comparison *comparison, const Options *options)
{
	if (comparison->tables->n_tables + comparison->n_sequences +
		comparison->n_different == 0 &&
		comparison->objects[0].objects + comparison->objects[1].objects == 0 &&
		compare_selection_is_given(options))
	{
		pg_log_error("no table of %s or %s matches the options",
					 comparison->sides[0]->name,
					 comparison->sides[1]->name);
		pg_log_error_detail("No rows, sequences or large objects were compared.");
		pg_fatal_hint("Correct the patterns of the options that select tables and schemas.");
	}
}

int
compare_databases(const Options *options, const char *argv0)
{
	Comparison *comparison = pg_malloc0(sizeof(Comparison));
	CompareSide **sides = comparison->sides;

	progress_begin(options->progress, options->no_progress);
	run_event_begin(options);
	run_event_stage("plan");
	open_sides(options, argv0, sides);
	name_sides(sides);
	comparison->with_objects = true;
	comparison->shows_equal = options->verbose;
	if (sides[1]->archive)
	{
		comparison->chosen =
			compare_selection_of_toc(sides[0]->source->conn, options,
									 sides[1]->plan->pg_dump_toc);
		comparison->with_objects = compare_selection_has_objects(options);
	}
	comparison->tables = compare_tables_match(sides, comparison->chosen, false);
	for (int i = 0; i < 2; i++)
		comparison->positions[i] =
			compare_positions_of_toc(sides[i]->plan->pg_dump_toc,
									 i == 1 ? comparison->chosen : NULL);
	note_run(comparison, options);
	compare_rows(comparison);
	close_sides(comparison);
	run_event_stage("end");
	/* differences are a result: all is done, and nothing to be undone */
	cleanup_forget_all();

	compare_report(comparison);
	refuse_nothing(comparison, options);
	report_sum(comparison);
	return comparison->n_different > 0 ? 1 : 0;
}

/* ----------
 * After a copy or a restore
 * ----------
 */

/*
 * The target is read as a source is, in a snapshot.  Options that select rows
 * or create a slot are meant for the real source, and cleared.
 */
static Source *
connect_target(const Target *target)
{
	Source	   *source = pg_malloc0(sizeof(Source));
	Options    *options = pg_malloc(sizeof(Options));

	/* what chooses rows, or a snapshot, is the source's */
	*options = *target->options;
	options->snapshot = NULL;
	options->incremental = NULL;
	options->create_slot = NULL;
	memset(&options->also_from, 0, sizeof(options->also_from));
	source->options = options;
	leader_connect_peer(source, target->address);
	return source;
}

/* Returns the number of places that differ. */
static int
compare_loaded(CompareSide *side, const Target *target, const DumpPlan *plan,
			   char **compared)
{
	Comparison *comparison = pg_malloc0(sizeof(Comparison));
	CompareSide **sides = comparison->sides;
	PGconn	   *conn;

	comparison->loaded = true;
	comparison->with_objects = true;
	sides[0] = side;
	sides[1] = compare_side_open_tables(connect_target(target), plan, true);
	sides[0]->name = psprintf("source database \"%s\"",
							  printable(side->plan->origin->database));
	sides[1]->name = psprintf("target database \"%s\"",
							  printable(sides[1]->plan->origin->database));
	for (int i = 0; i < 2; i++)
		sides[i]->alike = true;
	conn = sides[1]->source->conn;
	comparison->positions[0] = compare_positions_of_toc(plan->toc, NULL);
	comparison->positions[1] = compare_positions_of_database(conn, plan->toc);
	comparison->tables = compare_tables_match(sides, NULL, true);
	compare_rows(comparison);
	close_sides(comparison);
	compare_report(comparison);
	*compared = describe_compared(comparison);
	return comparison->n_different;
}

int
compare_copy(Source *source, const Target *target, const DumpPlan *plan,
			 char **compared)
{
	return compare_loaded(compare_side_of_copy(source, plan),
						  target, plan, compared);
}

/*
 * A restore's options are the target's: of the source only how to connect is
 * known.  Owned.
 */
static Options *
source_options(const Options *options)
{
	Options    *result = pg_malloc0(sizeof(Options));

	result->connection.dbname = pg_strdup(options->compare_with);
	result->connection.prompt_password = options->connection.prompt_password;
	result->jobs = options->jobs;
	result->retries = options->retries;
	result->stall_timeout = options->stall_timeout;
	result->standby_snapshot_timeout = options->standby_snapshot_timeout;
	result->allow_affected_standby = options->allow_affected_standby;
	result->trust_owners = options->trust_owners;
	result->no_extension = options->no_extension;
	return result;
}

/*
 * Find errors of --compare-with before the restore, not hours later: can the
 * source be reached, is it another database than the target, has it all
 * tables of the archive, and may they be read?
 */
void
compare_restore_check(const Run *run, const Target *target,
					  const char *new_name)
{
	Options    *options = source_options(run->options);
	PGconn	   *conn = connection_open_leader(options, "pg_parrestore");
	DumpPlan	plan = *run->plan;
	const DumpOrigin *origin =
		dump_origin_read(conn, false,
						 session_may_execute(conn, "pg_catalog.pg_control_system()"));
	const char *missing;

	target_refuse_same_database(target, origin, new_name);
	session_set_up(conn, options, options->encoding);
	session_begin(conn, "BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY");
	session_set_encoding(conn, plan.encoding);
	plan.pg_dump_toc = compare_lookup_tables(conn, run->plan, false, &missing);
	if (missing)
	{
		pg_log_error("table %s of the archive does not exist on the source",
					 printable(missing));
		pg_fatal_hint("Use --compare-with to specify the database from which the archive was dumped, or leave out this table with -L.");
	}
	plan.tables = dump_tables_read(conn, plan.pg_dump_toc, options,
								   plan.lock_wait_ms);
	source_check(conn, options, &plan);
	interrupt_set_connection(NULL);
	session_close(conn);
}

int
compare_restore(const Run *run, const Target *target, char **compared)
{
	Source	   *source = pg_malloc0(sizeof(Source));

	source->options = source_options(run->options);
	leader_connect(source);
	return compare_loaded(compare_side_open_tables(source, run->plan, false),
						  target, run->plan, compared);
}

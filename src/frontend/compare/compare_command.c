/*
 * compare_command.c
 *		The main path of a comparison: two sides, their tables, their rows.
 *
 * Both snapshots are taken before any row is read.  Then one side is read
 * after the other, by all workers.
 */
#include "base/fe_compat.h"

#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "compare/compare_command.h"
#include "compare/compare_sequence.h"
#include "compare/compare_tell.h"
#include "libpq-fe.h"
#include "progress/progress.h"
#include "status/run_event.h"

/*
 * A path that exists is an archive; what libpq takes for a connection string
 * cannot be one (fe-connect.c:recognized_connection_string), nor a
 * name without a slash that is no file.
 */
static bool
is_archive(const char *compare_with)
{
	struct stat st;

	if (strchr(compare_with, '=') != NULL ||
		strncmp(compare_with, "postgresql://", 13) == 0 ||
		strncmp(compare_with, "postgres://", 11) == 0)
		return false;
	return stat(compare_with, &st) == 0 || strchr(compare_with, '/') != NULL;
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
	result->snapshot = NULL;
	return result;
}

/* Options of pg_dump's that choose what is dumped. */
static bool
is_selection(const char *arg)
{
	static const char *const beginnings[] = {
		"-t", "-T", "-n", "-N", "-e", "-B", "--table", "--schema=", "--exclude-",
		"--extension", "--filter", "--no-large-objects", "--no-blobs",
		"--no-unlogged-table-data"
	};

	for (int i = 0; i < (int) lengthof(beginnings); i++)
		if (strncmp(arg, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

/*
 * Which tables an archive is to have by such options, only the database can
 * say: then what only the archive has is left out.
 */
static bool
leaves_out(const Options *options, const CompareSide *other)
{
	if (!compare_side_is_archive(other))
		return false;
	for (int i = 0; i < options->n_pg_dump_args; i++)
		if (is_selection(options->pg_dump_args[i]))
			return true;
	return false;
}

static void
open_sides(const Options *options, const char *argv0, CompareSide *sides[2])
{
	if (is_archive(options->compare_with))
	{
		sides[1] = compare_side_open_archive(options);
		sides[0] = compare_side_open_database(options, "the database", argv0,
											  compare_side_plan(sides[1])->encoding);
		return;
	}
	sides[0] = compare_side_open_database(options, "the database", argv0, NULL);
	sides[1] = compare_side_open_database(other_options(options),
										  "the other database", argv0,
										  compare_side_plan(sides[0])->encoding);
	for (int i = 0; i < 2; i++)
		compare_side_set_alike(sides[i]);
}

static int
compare_positions(CompareSide *const sides[2], bool only_first, int *n)
{
	const Toc  *const tocs[] = {
		compare_side_plan(sides[0])->pg_dump_toc,
		compare_side_plan(sides[1])->pg_dump_toc
	};
	const char *const names[] = {
		compare_side_name(sides[0]), compare_side_name(sides[1])
	};

	return compare_sequences_of_tocs(tocs, names, only_first, n,
									 compare_tell_line);
}

int
compare_databases(const Options *options, const char *argv0)
{
	/* exit callbacks and workers use them until the process ends */
	CompareSide **sides = pg_malloc0(2 * sizeof(CompareSide *));
	CompareTables *tables;
	CompareRows *rows;
	ObjectSum	objects[2] = {0};
	bool		only_first;
	bool		with_objects;
	int			n_sequences;
	int			n_different = 0;

	progress_begin(options->progress, options->no_progress);
	run_event_begin(options);
	run_event_stage("plan");
	open_sides(options, argv0, sides);
	only_first = leaves_out(options, sides[1]);
	with_objects = !only_first ||
		compare_side_plan(sides[0])->objects->n_objects > 0;
	tables = compare_tables_match(sides, only_first);
	compare_tell_run(sides, tables, options);
	rows = compare_rows_run(sides, tables, with_objects, objects);
	for (int i = 0; i < 2; i++)
		compare_side_close(sides[i]);
	interrupt_set_connection(NULL);
	run_event_stage("end");
	/* differences are a result: all is done, and nothing to be undone */
	cleanup_forget_all();

	compare_tell_tables(sides, tables, rows);
	for (int i = 0; i < tables->n_tables; i++)
		n_different += tables->tables[i].differs;
	n_different += compare_positions(sides, only_first, &n_sequences);
	n_different += compare_tell_objects(sides, objects);
	compare_tell_sum(tables, n_sequences, objects, n_different);
	return n_different > 0 ? 1 : 0;
}

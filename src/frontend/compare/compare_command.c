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
#include "base/identifier.h"
#include "base/interrupt.h"
#include "compare/compare_command.h"
#include "compare/compare_selection.h"
#include "compare/compare_sequence.h"
#include "compare/compare_tell.h"
#include "libpq-fe.h"
#include "progress/progress.h"
#include "status/run_event.h"

/*
 * A path that exists is an archive; what libpq takes for a connection string
 * cannot be one, nor a name without a slash that is no file.
 */
static bool
is_archive(const char *compare_with)
{
	struct stat st;

	if (identifier_is_conninfo(compare_with))
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
	result->password_command = options->target_password_command;
	result->snapshot = NULL;
	return result;
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
compare_positions(CompareSide *const sides[2], const bool *chosen, int *n)
{
	const Toc  *const tocs[] = {
		compare_side_plan(sides[0])->pg_dump_toc,
		compare_side_plan(sides[1])->pg_dump_toc
	};
	const char *const names[] = {
		compare_side_name(sides[0]), compare_side_name(sides[1])
	};

	return compare_sequences_of_tocs(tocs, names, chosen, n,
									 compare_tell_line);
}

/*
 * That nothing was compared must not look as if it were equal.  Two databases
 * that are empty are, if nothing was left out.
 */
static void
refuse_nothing(CompareSide *const sides[2], const Options *options,
			   const CompareTables *tables, int n_sequences,
			   const ObjectSum objects[2], int n_different)
{
	if (tables->n_tables + n_sequences + n_different == 0 &&
		objects[0].objects + objects[1].objects == 0 &&
		compare_selection_is_given(options))
	{
		pg_log_error("no table of %s or %s matches what the options name",
					 compare_side_name(sides[0]), compare_side_name(sides[1]));
		pg_log_error_detail("No rows, sequences or large objects were compared.");
		exit(1);
	}
}

int
compare_databases(const Options *options, const char *argv0)
{
	/* exit callbacks and workers use them until the process ends */
	CompareSide **sides = pg_malloc0(2 * sizeof(CompareSide *));
	CompareTables *tables;
	CompareRows *rows;
	ObjectSum	objects[2] = {0};
	const bool *chosen = NULL;
	bool		with_objects = true;
	int			n_sequences;
	int			n_different = 0;

	progress_begin(options->progress, options->no_progress);
	run_event_begin(options);
	run_event_stage("plan");
	open_sides(options, argv0, sides);
	if (compare_side_is_archive(sides[1]))
	{
		chosen = compare_selection_of_toc(compare_side_conn(sides[0]), options,
										  compare_side_plan(sides[1])->pg_dump_toc);
		with_objects = compare_selection_has_objects(options);
	}
	tables = compare_tables_match(sides, chosen);
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
	n_different += compare_positions(sides, chosen, &n_sequences);
	n_different += compare_tell_objects(sides, objects);
	refuse_nothing(sides, options, tables, n_sequences, objects, n_different);
	compare_tell_sum(tables, n_sequences, objects, n_different);
	return n_different > 0 ? 1 : 0;
}

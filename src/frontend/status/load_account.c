/*
 * load_account.c
 *		The stages of a copy or a restore, its summary, and the account of a
 *		failure.
 *
 * A dump that fails removes its files.  A copy or restore that fails leaves
 * the target with some of the contents, and the user has to decide whether to
 * continue with --resume or to start again.  So an exit callback reports
 * which rows were committed and which objects are missing.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "status/load_account.h"
#include "status/summary.h"

/* The number of tables that the account of a failure names. */
#define TABLES_SHOWN 10

/* The width of a narrow terminal. */
#define NARROW_COLUMNS 80

/* Names of stages in the event log. */
static const char *const stage_names[] = {
	"plan", "definitions", "rows", "indexes", "rest", "statistics", "compare",
	"end"
};

/* Each stage ends where the next begins. */
static const char *
elapsed_between(const LoadAccount *account, LoadStage from, LoadStage to)
{
	return units_elapsed((account->began_us[to] - account->began_us[from]) / 1e6);
}

/* ----------
 * After a failure
 * ----------
 */

/*
 * Return the number of tables without all of their rows, and the names of the
 * first ones.  There may also be such tables at the end of a restore, which
 * continues after errors.
 */
static int
find_missing(const Run *run, char **names)
{
	const DumpTables *tables = run->plan->tables;
	PQExpBufferData list = buffer_new();
	int			n = 0;

	for (int i = 0; i < tables->n_tables; i++)
		if (!run_table_is_complete(run, i) && n++ < TABLES_SHOWN)
			units_names_add(&list, tables->tables[i].name);
	*names = units_names(list.data, n, TABLES_SHOWN);
	termPQExpBuffer(&list);
	return n;
}

static void
account_for_rows(const Run *run)
{
	const FileResults *results = run->results;
	int			n_tables = run->plan->tables->n_tables;
	char	   *missing;
	int			n_missing = find_missing(run, &missing);
	int			n_objects = 0;

	if (n_missing == 0)
		pg_log_error_detail(ngettext("All rows were committed on the target (%d table).",
									 "All rows were committed on the target (%d tables).",
									 n_tables), n_tables);
	else
	{
		pg_log_error_detail("Tables committed on the target with all rows: %d of %d.",
							n_tables - n_missing, n_tables);
		pg_log_error_detail("Incomplete tables: %s.", missing);
	}
	for (int i = 0; i < results->n_objects; i++)
		n_objects += results->objects[i].done && !results->objects[i].incomplete;
	if (results->n_objects > 0)
		pg_log_error_detail("Large objects committed on the target: %d of %d.",
							n_objects, results->n_objects);
}

/* The account of a failure after the first rows were sent. */
static void
account_for_all(const LoadAccount *account)
{
	account_for_rows(account->run);
	if (account->indexes && account->indexes->n > 0)
		pg_log_error_detail("Indexes and constraints built: %d of %d.",
							index_log_built(account->indexes),
							account->indexes->n);
	if (account->stage < LOAD_STAGE_REST)
		pg_log_error_detail("Objects that are created after the rows are missing: foreign keys, triggers, privileges, sequence values and others.");
	else if (account->stage == LOAD_STAGE_REST)
		pg_log_error_detail("Not all objects that are created after the rows, such as foreign keys, triggers and privileges, were created.");
	else if (account->incomplete)
		pg_log_error_detail("Some objects could not be created; see the errors.");
	if (account->run->options->restore == NULL &&
		(account->stage == LOAD_STAGE_REST ||
		 (account->stage > LOAD_STAGE_REST && account->incomplete)))
	{
		pg_log_error_detail("The output of pg_dump --section=pre-data --section=post-data creates the missing objects, but not sequence values.  Each existing object causes an error.");
		pg_log_error_hint("Run this output with psql, or copy again with --clean.");
	}
}

/* An exit callback. */
static void
load_account_report_at_exit(void *arg)
{
	const LoadAccount *account = arg;
	const Options *options = account->run->options;

	if (account->stage == LOAD_STAGE_PLAN)
		return;
	/* the cause was reported before, possibly by another process */
	pg_log_error(options->restore ? "the restore was not completed" :
				 "the copy was not completed");
	if (account->stage == LOAD_STAGE_DEFINITIONS)
	{
		/* an earlier run may have loaded rows */
		if (!options->resume)
			pg_log_error_detail("The target contains some of the definitions but no rows.");
	}
	else if (account->stage == LOAD_STAGE_COMPARE &&
			 options->restore == NULL && !account->incomplete)
		/* no more is certain, as the comparison might have found an error */
		pg_log_error_detail("All rows were copied before source and target were compared.");
	else
		account_for_all(account);

	/*
	 * --resume needs a journal.  With --all-databases, the process that runs
	 * the restores of the databases prints the hint once.
	 */
	if (account->can_resume && message_database() == NULL &&
		!(account->must_restart && *account->must_restart))
		pg_log_error_hint(interrupt_came() ?
						  "Run the same command with --resume to continue." :
						  "Fix the cause, and run the same command with --resume.");
}

void
load_account_begin(LoadAccount *account, const Run *run)
{
	account->run = run;
	load_account_stage(account, LOAD_STAGE_PLAN);
	cleanup_push(load_account_report_at_exit, account);
}

void
load_account_stage(LoadAccount *account, LoadStage stage)
{
	account->stage = stage;
	account->began_us[stage] = clock_wall_us();
	run_event_stage(stage_names[stage]);
}

void
load_account_indexes(LoadAccount *account, Run *run,
					 const IndexBuilds *indexes)
{
	account->indexes = indexes;
	run->indexes = indexes;
}

/* ----------
 * After the last stage
 * ----------
 */

/* Print a line for each table, with -v. */
static void
log_tables(const Run *run)
{
	const DumpPlan *plan = run->plan;

	for (int i = 0; i < plan->tables->n_tables; i++)
	{
		const TablePlan *table = &plan->chunks->tables[i];
		uint64		rows = 0;
		uint64		bytes = 0;

		for (int j = 0; j < table->n_files; j++)
		{
			rows += run->results->files[table->first_file + j].rows;
			bytes += run->results->files[table->first_file + j].raw_bytes;
		}
		pg_log_info(ngettext("table %s: %s row, %s", "table %s: %s rows, %s", rows),
					printable(plan->tables->tables[i].name), units_count(rows),
					units_size(bytes));
	}
}

/*
 * Fill in the stages of the run in the order of time, without the end; at
 * most LOAD_STAGE_END.  Returns their number.
 */
static int
load_account_stages(const LoadAccount *account, ReportStage *stages)
{
	int			n = 0;

	for (int i = 0; i < LOAD_STAGE_END; i++)
	{
		if (account->began_us[i] == 0)
			continue;
		stages[n].name = stage_names[i];
		stages[n].start_us = account->began_us[i];
		n++;
	}
	return n;
}

/* Return the duration of each stage in a text of this format; owned. */
static char *
load_account_times(const LoadAccount *account, const char *format)
{
	bool		compared = account->run->options->compare;

	return psprintf(format,
					elapsed_between(account, LOAD_STAGE_DEFINITIONS, LOAD_STAGE_ROWS),
					elapsed_between(account, LOAD_STAGE_ROWS, LOAD_STAGE_INDEXES),
					elapsed_between(account, LOAD_STAGE_INDEXES, LOAD_STAGE_REST),
					elapsed_between(account, LOAD_STAGE_REST, LOAD_STAGE_ANALYZE),
					elapsed_between(account, LOAD_STAGE_ANALYZE,
									compared ? LOAD_STAGE_COMPARE : LOAD_STAGE_END),
					elapsed_between(account, LOAD_STAGE_COMPARE, LOAD_STAGE_END));
}

/*
 * Print these times, without the comparison, whose line has its time.  If all
 * stages took hours, a terminal of 80 columns has no room for them in one
 * line.
 */
static void
print_times(const LoadAccount *account, FILE *out)
{
	char	   *line = load_account_times(account, "time: definitions %s, rows %s, indexes %s, other %s, ANALYZE %s");

	if (strlen(line) > NARROW_COLUMNS)
	{
		free(line);
		line = load_account_times(account, "time: definitions %s, rows %s, indexes %s,\n  other %s, ANALYZE %s");
	}
	fprintf(out, "%s\n", line);
	free(line);
}

/* "1 of 2 chunks, 3 pieces of other chunks, 5 of 30 large objects"; owned. */
static char *
describe_work(const FileResults *results, const ResumedWork *work)
{
	PQExpBufferData list = buffer_new();

	units_list_add(&list, psprintf(ngettext("%d of %d chunk", "%d of %d chunks",
											results->n_files),
								   work->files, results->n_files));
	if (work->parts > 0)
		units_list_add(&list, psprintf(ngettext("%d piece of other chunks",
												"%d pieces of other chunks",
												work->parts), work->parts));
	if (results->n_objects > 0)
		units_list_add(&list, psprintf(ngettext("%d of %d large object",
												"%d of %d large objects",
												results->n_objects),
									   work->objects, results->n_objects));
	return list.data;
}

/* Describe the work of earlier runs; owned, and NULL if there is none. */
static char *
load_account_before(const LoadAccount *account)
{
	ResumedWork before = run_before(account->run);

	if (!account->run->options->resume ||
		before.files + before.parts + before.objects == 0)
		return NULL;
	return psprintf("~%s (%s)", units_size((uint64) before.bytes),
					describe_work(account->run->results, &before));
}

static int
count_own(const FileResult *results, int n)
{
	int			n_own = 0;

	for (int i = 0; i < n; i++)
		n_own += results[i].done && !results[i].incomplete &&
			!run_was_done_before(&results[i]);
	return n_own;
}

/*
 * The first line of a summary.  A run can complete the restore that earlier
 * runs have begun.
 */
static void
print_title(const LoadAccount *account, bool completes, FILE *out)
{
	const Options *options = account->run->options;

	if (account->copied)
		fputs(account->copied, out);
	else if (options->pipe_command)
		fprintf(out, completes ?
				"completed the restore of an archive with --pipe into database \"%s\":" :
				"restored an archive with --pipe into database \"%s\":",
				printable(account->database));
	else
		fprintf(out, completes ?
				"completed the restore of archive \"%s\" into database \"%s\":" :
				"restored archive \"%s\" into database \"%s\":",
				printable(options->restore), printable(account->database));
	fputc('\n', out);
}

/* The summary of a restore that continues the work of earlier runs. */
static void
print_resumed(const LoadAccount *account, const FileTotals *total,
			  int n_missing, const char *before, FILE *out)
{
	const FileResults *results = account->run->results;
	int			n_tables = account->run->plan->tables->n_tables - n_missing;
	const ResumedWork own = {
		.files = count_own(results->files, results->n_files),
		.objects = count_own(results->objects, results->n_objects),
	};
	PQExpBufferData list = buffer_new();
	double		seconds = run_clock_seconds();

	units_list_add(&list, psprintf(ngettext("%s row", "%s rows", total->rows),
								   units_count(total->rows)));
	units_list_add(&list, psprintf("%s in %s", units_size(total->raw_bytes),
								   units_elapsed(seconds)));
	/* there may only be indexes left to build */
	if (total->raw_bytes > 0)
		units_list_add(&list, units_rate(total->raw_bytes, seconds));
	print_title(account, n_missing == 0 && !account->incomplete, out);
	fprintf(out, ngettext("  %d table\n", "  %d tables\n", n_tables), n_tables);
	fprintf(out, "  by this run: %s (%s)\n", list.data,
			describe_work(results, &own));
	fprintf(out, "  by earlier runs: %s\n", before);
	termPQExpBuffer(&list);
}

/* The summary of a run that has done all the work. */
static void
print_figures(const LoadAccount *account, FILE *out)
{
	RunFigures	figures = summary_figures(account->run);
	PQExpBufferData list = buffer_new();

	run_figures_append(&list, &figures, account->copied ? RUN_COPY : RUN_RESTORE,
					   run_clock_seconds(), true);
	print_title(account, false, out);
	fprintf(out, "  %s\n", list.data);
	if (account->n_errors > 0)
		fprintf(out, "  errors ignored: %d\n", account->n_errors);
	termPQExpBuffer(&list);
}

void
load_account_print(const LoadAccount *account, FILE *out)
{
	const Run  *run = account->run;
	FileTotals	total = file_results_total(run->results);
	const char *before = load_account_before(account);
	char	   *missing;
	int			n_missing = find_missing(run, &missing);

	log_tables(run);
	pg_log_info("indexes and constraints built: %d, with %s of work",
				index_log_built(account->indexes),
				units_elapsed(account->indexes->totals->busy_us / 1e6));
	/* the process that started this run prints a line instead */
	if (run_figures_own() && !run->options->verbose)
		return;
	message_before_output();
	if (message_database() && !run->options->target)
		fprintf(out, "database \"%s\":\n", printable(message_database()));
	if (n_missing > 0)
		fprintf(out, ngettext("%d incomplete table: %s\n",
							  "%d incomplete tables: %s\n", n_missing),
				n_missing, missing);
	if (before)
		print_resumed(account, &total, n_missing, before, out);
	else
		print_figures(account, out);
	if (account->formats)
		fprintf(out, "row formats: %s\n", account->formats);
	summary_print_tables(run, out);
	summary_print_masks(run, out);
	print_times(account, out);
	if (account->compared)
		fprintf(out, "comparison: %s in %s, no differences found\n",
				account->compared,
				elapsed_between(account, LOAD_STAGE_COMPARE, LOAD_STAGE_END));
	fflush(out);
}

/* ----------
 * The page of --report, of a copy or a restore.
 * ----------
 */

/*
 * Return the builds for the page.  A restore may continue after an error, so
 * some indexes may be missing; these are not shown.
 */
static ReportBuild *
collect_builds(const IndexBuilds *indexes, int *n_builds)
{
	const IndexBuild *builds = indexes->builds;
	int			n = indexes->n;
	ReportBuild *result = pg_malloc0((n + 1) * sizeof(ReportBuild));

	*n_builds = 0;
	for (int i = 0; i < n; i++)
	{
		const TocEntry *table = builds[i].table->entry;
		ReportBuild *build = &result[*n_builds];

		if (builds[i].end_us == 0)
			continue;
		build->name = index_log_name(&builds[i]);
		build->schema = table->namespace;
		build->table = table->tag;
		build->index_job = builds[i].index_job;
		build->start_us = builds[i].start_us;
		build->end_us = builds[i].end_us;
		++*n_builds;
	}
	return result;
}

void
load_page_end(Report *page, const LoadAccount *account, int n_errors,
			  const PeerAddress *target_address)
{
	const Options *options = account->run->options;
	ReportStage stages[LOAD_STAGE_END];
	Manifest   *manifest;
	ReportCopy	copy = {
		.target = target_address->conninfo,
		.times = load_account_times(account, options->compare ?
									"definitions %s, rows %s, indexes %s, other %s, ANALYZE %s, comparison %s" :
									"definitions %s, rows %s, indexes %s, other %s, ANALYZE %s"),
		.before = load_account_before(account),
		.formats = account->formats,
		.compared = options->compare,
		.archive = options->pipe_command ? "files that commands return" :
		options->restore,
		.n_errors = n_errors,
		.stages = stages,
		.n_stages = load_account_stages(account, stages),
		.end_us = account->began_us[LOAD_STAGE_END],
	};

	if (page == NULL)
		return;
	copy.builds = collect_builds(account->indexes, &copy.n_builds);
	manifest = run_manifest_new(account->run);
	report_end(page, manifest, NULL, &copy);
}

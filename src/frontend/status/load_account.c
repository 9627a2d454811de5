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
find_missing(const Run *run, PQExpBuffer names)
{
	const DumpTables *tables = run->plan->tables;
	int			n = 0;

	initPQExpBuffer(names);
	for (int i = 0; i < tables->n_tables; i++)
	{
		if (run_table_is_complete(run, i))
			continue;
		if (n++ < TABLES_SHOWN)
			appendPQExpBuffer(names, "%s%s", n > 1 ? ", " : "",
							  printable(tables->tables[i].name));
	}
	if (n > TABLES_SHOWN)
		appendPQExpBufferStr(names, ", ...");
	return n;
}

static void
account_for_rows(const Run *run)
{
	const FileResults *results = run->results;
	int			n_tables = run->plan->tables->n_tables;
	PQExpBufferData missing;
	int			n_missing = find_missing(run, &missing);
	int			n_objects = 0;

	if (n_missing == 0)
		pg_log_error_detail("All rows were committed on the target (%d table%s).",
							n_tables, units_plural(n_tables));
	else
		pg_log_error_detail("All rows of %d of %d table%s were committed on the target, but not of %s.",
							n_tables - n_missing, n_tables,
							units_plural(n_tables), missing.data);
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
		pg_log_info("table %s: " UINT64_FORMAT " row%s, %s",
					printable(plan->tables->tables[i].name), rows, units_plural(rows),
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

/*
 * Return the duration of each stage, as a text; owned.  The summary shows the
 * time of the comparison with its result.
 */
static char *
load_account_times(const LoadAccount *account, bool with_comparison)
{
	bool		compared = account->run->options->compare;
	PQExpBufferData text = buffer_new();

	appendPQExpBuffer(&text, "definitions %s, rows %s, indexes %s, other %s, ANALYZE %s",
					  elapsed_between(account, LOAD_STAGE_DEFINITIONS, LOAD_STAGE_ROWS),
					  elapsed_between(account, LOAD_STAGE_ROWS, LOAD_STAGE_INDEXES),
					  elapsed_between(account, LOAD_STAGE_INDEXES, LOAD_STAGE_REST),
					  elapsed_between(account, LOAD_STAGE_REST, LOAD_STAGE_ANALYZE),
					  elapsed_between(account, LOAD_STAGE_ANALYZE,
									  compared ? LOAD_STAGE_COMPARE : LOAD_STAGE_END));
	if (compared && with_comparison)
		appendPQExpBuffer(&text, ", comparison %s",
						  elapsed_between(account, LOAD_STAGE_COMPARE, LOAD_STAGE_END));
	return text.data;
}

/*
 * Print these times.  If all stages took hours, a terminal of 80 columns has
 * no room for them in one line.
 */
static void
print_times(const LoadAccount *account, FILE *out)
{
	char	   *times = load_account_times(account, false);
	char	   *other = strstr(times, ", other ");

	if (strlen("time: ") + strlen(times) <= NARROW_COLUMNS)
		fprintf(out, "time: %s\n", times);
	else
		fprintf(out, "time: %.*s,\n  %s\n", (int) (other - times), times,
				other + strlen(", "));
	free(times);
}

/* "(1 of 2 chunks and 3 pieces of others, 5 of 30 large objects)" */
static void
append_work(PQExpBuffer text, const FileResults *results,
			const ResumedWork *work)
{
	appendPQExpBuffer(text, "(%d of %d chunk%s", work->files, results->n_files,
					  units_plural(results->n_files));
	if (work->parts > 0)
		appendPQExpBuffer(text, " and %d piece%s of others", work->parts,
						  units_plural(work->parts));
	if (results->n_objects > 0)
		appendPQExpBuffer(text, ", %d of %d large object%s", work->objects,
						  results->n_objects,
						  units_plural(results->n_objects));
	appendPQExpBufferChar(text, ')');
}

/* Describe the work of earlier runs; owned, and NULL if there is none. */
static char *
load_account_before(const LoadAccount *account)
{
	ResumedWork before = run_before(account->run);
	PQExpBufferData text = buffer_new();

	if (!account->run->options->resume ||
		before.files + before.parts + before.objects == 0)
		return NULL;
	appendPQExpBuffer(&text, "~%s ", units_size((uint64) before.bytes));
	append_work(&text, account->run->results, &before);
	return text.data;
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

/* The summary of a restore that continues what earlier runs have done. */
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
	PQExpBufferData text = buffer_new();
	double		seconds = run_clock_seconds();

	append_work(&text, results, &own);
	fprintf(out, n_missing > 0 || account->incomplete ? "restored %s:\n" :
			"completed the restore of %s:\n", account->sides);
	fprintf(out, "  %d table%s\n", n_tables, units_plural(n_tables));
	fprintf(out, "  by this run: %s row%s, %s in %s",
			units_count(total->rows), units_plural(total->rows),
			units_size(total->raw_bytes), units_elapsed(seconds));
	/* there may only be indexes left to build */
	if (total->raw_bytes > 0)
		fprintf(out, ", %s", units_rate(total->raw_bytes, seconds));
	fprintf(out, " %s\n", text.data);
	fprintf(out, "  by earlier runs: %s\n", before);
	termPQExpBuffer(&text);
}

/* "restored archive "a" into database "b", with 1 error:", and its figures */
static void
print_figures(const LoadAccount *account, FILE *out)
{
	bool		is_copy = account->run->options->target != NULL;
	RunFigures	figures = summary_figures(account->run);
	PQExpBufferData text = buffer_new();

	appendPQExpBuffer(&text, is_copy ? "copied %s" : "restored %s",
					  account->sides);
	if (account->n_errors > 0)
		appendPQExpBuffer(&text, ", with %d error%s", account->n_errors,
						  units_plural(account->n_errors));
	appendPQExpBufferStr(&text, ":\n  ");
	run_figures_append(&text, &figures, is_copy ? RUN_COPY : RUN_RESTORE,
					   run_clock_seconds(), true);
	fprintf(out, "%s\n", text.data);
	termPQExpBuffer(&text);
}

void
load_account_print(const LoadAccount *account, FILE *out)
{
	const Run  *run = account->run;
	FileTotals	total = file_results_total(run->results);
	const char *before = load_account_before(account);
	PQExpBufferData missing;
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
		fprintf(out, "%d incomplete table%s: %s\n", n_missing,
				units_plural(n_missing), missing.data);
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
		fprintf(out, "compared %s in %s: no differences found\n",
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
		.times = load_account_times(account, true),
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

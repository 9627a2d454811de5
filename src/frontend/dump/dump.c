/*
 * dump.c
 *		The main path of a dump: snapshot, plan, chunks, workers, archive.
 */
#include "base/fe_compat.h"

#include "archive/archive_dir.h"
#include "archive/toc_file.h"
#include "base/clock.h"
#include "base/event_log.h"
#include "base/interrupt.h"
#include "base/message.h"
#include "base/units.h"
#include "dump/dump.h"
#include "dump/dump_worker.h"
#include "dump/reuse_file.h"
#include "options/own_options.h"
#include "plan/previous_archive.h"
#include "process/progress.h"
#include "report/report.h"
#include "source/leader.h"
#include "source/source_check.h"
#include "status/dry_run.h"
#include "status/metrics.h"
#include "status/run.h"
#include "status/summary.h"
#include "stock/stock_pg_dump.h"
#include "tasks/task_leader.h"

/* One dump; an argument of the pool's callbacks, in leader and workers. */
typedef struct Dump
{
	DumpPlan	plan;
	Source		source;
	Run			run;
	Reuse	   *reuse;			/* of the previous archive's files; NULL =
								 * none */
	DumpWorker *worker;			/* in a worker: itself */
} Dump;

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
dump_start_worker(void *arg, int no)
{
	Dump	   *dump = arg;

	dump->worker = dump_worker_start(&dump->source, &dump->run, dump->reuse,
									 no);
}

static bool
dump_run_job(void *arg, int job, volatile int *step)
{
	Dump	   *dump = arg;

	return dump_worker_run(dump->worker, job, step);
}

static void
dump_stop_worker(void *arg)
{
	Dump	   *dump = arg;

	dump_worker_stop(dump->worker);
}

static char *
dump_describe_job(void *arg, int job, int step)
{
	Dump	   *dump = arg;

	return dump_plan_describe_job(&dump->plan, job, step);
}

static void
dump_reset_job(void *arg, int job)
{
	Dump	   *dump = arg;

	run_event_retry(&dump->run, job);
	dump_worker_reset(&dump->run, job);
}

static void
run_workers(Dump *dump)
{
	const Options *options = dump->run.options;
	WorkerTask	task = {
		.arg = dump,
		.doing = "dumping",
		.max_retries = (int) options->retries,
		.has_slots = true,

		/*
		 * a worker that was killed does not end its command: see sink.c
		 */
		.outlives_kill = options->pipe_command == NULL,
		.start = dump_start_worker,
		.run = dump_run_job,
		.stop = dump_stop_worker,
		.describe = dump_describe_job,
		.reset = dump_reset_job,
	};

	run_event_run(options, &dump->plan, NULL);
	run_event_stage("rows");
	if (options->tasks)
		task_leader_run(&dump->source, &dump->run, &task);
	else
		leader_run_workers(&dump->source, &dump->run, &task);
}

/* ----------
 * Steps
 * ----------
 */

/* Exit callbacks and workers use it until the process ends. */
static Dump *
new_dump(const Options *options)
{
	Dump	   *dump = pg_malloc0(sizeof(Dump));

	dump->source.options = options;
	dump->run.options = options;
	dump->run.plan = &dump->plan;
	return dump;
}

/* The method asked for, if the pg_restore that goes with pg_dump reads it. */
static CompressSpec
choose_compression(const Options *options, int pg_dump_major)
{
	if (!options->compress_given)
		return compress_spec_default(pg_dump_major);
	if (!compress_method_readable(options->compress.method, pg_dump_major))
	{
		pg_log_error("pg_restore of PostgreSQL %d cannot read archives compressed with \"%s\"",
					 pg_dump_major,
					 compress_method_name(options->compress.method));
		pg_log_error_hint("Use gzip or none, or name a newer pg_dump by --pg-dump.");
		exit(1);
	}
	return options->compress;
}

/*
 * All data is there: write what describes it, and give the archive its name.
 * Returns its manifest.
 */
static Manifest *
finish_archive(const Run *run, ArchiveDir *dir)
{
	const DumpPlan *plan = run->plan;
	FileTotals	total = file_results_total(run->results);
	char		raw[UNITS_BYTES];
	char		stored[UNITS_BYTES];
	ArchiveFile *toc_file;
	Manifest   *manifest;

	large_object_lists_write(plan->objects, dir, run->results);
	toc_file = archive_file_begin(run->results, run->results->toc,
								  archive_dir_take_toc(dir), NULL);
	toc_write(plan->toc, &plan->compress, archive_file_sink(toc_file));
	archive_file_complete(toc_file, 0);
	/* after all others, whose checksums it has, and before all is flushed */
	manifest = run_manifest_new(run);
	run_manifest_write(run, manifest);
	run_event_stage("flush");
	archive_dir_publish(dir, run->options->sync_method);
	cleanup_forget_all();		/* a slot stays, too */
	/* for the report, with the flushing */
	manifest->end_us = clock_wall_us();
	run_event_stage("end");
	pg_log_info("dumped " UINT64_FORMAT " row%s of %d table%s, %s stored as %s",
				total.rows, units_plural(total.rows),
				plan->tables->n_tables,
				units_plural(plan->tables->n_tables),
				units_size(total.raw_bytes, raw),
				units_size(total.stored_bytes, stored));
	summary_report(run, progress_is_shown());
	return manifest;
}

/* Could the archive be made there? */
static void
check_directory(const Options *options)
{
	const char *path = options->directory;

	if (path && options->clean_output && pg_check_dir(path) > 1)
		/* removes nothing yet */
		(void) archive_dir_create(path, true, false);
	else if (path)
		(void) archive_dir_check(path);
}

/* What would make a run with this plan fail, or may do so. */
static void
check_plan(const Dump *dump)
{
	const Options *options = dump->run.options;
	const DumpPlan *plan = &dump->plan;
	ArchiveNeed need = {
		.raw_bytes = dump_plan_new_bytes(plan),
		.compressed = plan->compress.method != COMPRESS_NONE,
		.clean = options->clean_output,
	};

	source_check(dump->source.conn, options, plan);
	if (options->directory == NULL)
		return;
	if (plan->previous)
	{
		need.previous = plan->previous->directory;
		need.copies = own_options_copy_method(options) == COPY_METHOD_COPY;
		need.previous_bytes = dump_plan_previous_bytes(plan);
	}
	archive_space_check(options->directory, &need);
}

/* ----------
 * The main paths
 * ----------
 */

/* --dry-run */
static void
show_plan(Dump *dump, StockPgDump *pg_dump)
{
	leader_open(&dump->source, pg_dump, &dump->plan);
	leader_plan(&dump->source, pg_dump, &dump->plan);
	leader_close(&dump->source);
	dry_run_print(dump->run.options, &dump->plan);
	if (dump->run.servers)
		fprintf(event_log_text_output(), "%s\n", server_share_plan(&dump->run));
	cleanup_forget_all();
}

/* --check */
static void
check_only(Dump *dump, StockPgDump *pg_dump)
{
	leader_open(&dump->source, pg_dump, &dump->plan);
	leader_plan(&dump->source, pg_dump, &dump->plan);
	if (dump->run.servers)
		findings_note(server_share_plan(&dump->run));
	check_plan(dump);
	leader_close(&dump->source);
	/* last, as it ends the program: the list has all else by then */
	check_directory(dump->run.options);
	findings_end();
}

static void
make_archive(Dump *dump, StockPgDump *pg_dump)
{
	const Options *options = dump->run.options;
	Report	   *page;
	ArchiveDir *dir;
	Manifest   *manifest;

	/* before there is a slot, and pg_dump begins */
	page = report_begin(options->report, options->directory);
	leader_open(&dump->source, pg_dump, &dump->plan);
	run_event_stage("plan");

	/*
	 * Before the plan, so that a place that cannot be is seen at once; and
	 * before the workers, so that a failure ends them first, and then removes
	 * their files.
	 */
	dir = options->pipe_command
		? archive_dir_create_piped(options->pipe_command)
		: archive_dir_create(options->directory, options->clean_output,
							 options->sync_method != SYNC_NONE);
	dump->run.archive = dir;

	leader_plan(&dump->source, pg_dump, &dump->plan);
	check_plan(dump);
	findings_report();
	/* an old archive goes now that options, locks, privileges are right */
	archive_dir_clean(dir);

	run_make_results(&dump->run, dump->plan.checksum_type);
	dump->reuse = reuse_new(&dump->plan);
	run_workers(dump);
	leader_note_history(&dump->source, &dump->plan);
	/* the archive is right without it: this may warn, and no more */
	if (dump->source.slot)
		(void) logical_slot_recheck(dump->source.slot);

	/*
	 * Its locks and snapshot served all workers until now.  Flushing takes
	 * its time, in which they would hold up vacuum and others for nothing.
	 */
	leader_close(&dump->source);

	manifest = finish_archive(&dump->run, dir);
	if (dump->source.slot)
		logical_slot_print(dump->source.slot);
	metrics_end(true);
	/* last: should it fail, all else is done and told */
	report_end(page, manifest, NULL, NULL);
}

void
dump_database(const Options *options, const char *argv0)
{
	Dump	   *dump = new_dump(options);
	StockPgDump *pg_dump;

	progress_begin(options->progress, options->no_progress);
	/* first, so that their last words come when all that failed is undone */
	run_metrics_begin(options, &dump->run);
	run_event_begin(options);
	pg_dump = stock_pg_dump_find(options, argv0);
	/* at once: a plan for a place that cannot be is of no use */
	if (options->incremental)
		previous_archive_check(options->incremental, options->directory);
	if (options->dry_run)
		check_directory(options);
	/* before the directory is made, for which no wrong password is to do */
	leader_connect(&dump->source);
	if (dump->source.standbys)
	{
		dump->run.servers = standby_names(dump->source.standbys);
		dump->run.n_servers = dump->source.standbys->n;
	}
	stock_pg_dump_check(pg_dump, options);
	dump->plan.compress =
		choose_compression(options, stock_pg_dump_major(pg_dump));
	if (options->dry_run)
		show_plan(dump, pg_dump);
	else if (options->check)
		check_only(dump, pg_dump);
	else
		make_archive(dump, pg_dump);
}

/*
 * dump.c
 *		The main path of a dump: snapshot, plan, chunks, workers, archive.
 */
#include "base/fe_compat.h"

#include "archive/archive_dir.h"
#include "archive/archive_file.h"
#include "archive/archive_space.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/findings.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "dump/dump.h"
#include "dump/dump_worker.h"
#include "dump/large_object_file.h"
#include "plan/archive_layout.h"
#include "progress/progress.h"
#include "report/report.h"
#include "source/leader.h"
#include "source/source_check.h"
#include "status/dry_run.h"
#include "status/run_event.h"
#include "status/run_manifest.h"
#include "status/summary.h"
#include "stock/stock_pg_dump.h"
#include "toc/toc_write.h"

/* One run; an argument of the pool's callbacks, in leader and workers. */
typedef struct DumpRun
{
	DumpContext context;
	PGconn	   *conn;			/* the leader's session */
	DumpWorker *worker;			/* in a worker: itself */
	Report	   *report;			/* NULL if none is made */
} DumpRun;

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

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
start_worker(void *arg, int no)
{
	DumpRun    *run = arg;

	run->worker = dump_worker_start(&run->context, no);
}

static bool
run_job(void *arg, int job, volatile int *step)
{
	DumpRun    *run = arg;

	return dump_worker_run(run->worker, job, step);
}

static void
do_job_here(void *arg, int job)
{
	DumpRun    *run = arg;
	DumpWorker *worker = dump_worker_borrow(&run->context);
	int			step;

	(void) dump_worker_run(worker, job, &step);
	dump_worker_stop(worker);
}

static void
stop_worker(void *arg)
{
	DumpRun    *run = arg;

	dump_worker_stop(run->worker);
}

static char *
describe_job(void *arg, int job, int step)
{
	DumpRun    *run = arg;

	return job_describe(run->context.queue, &run->context.queue->jobs[job], step,
						run->context.tables, run->context.objects);
}

static void
reset_job(void *arg, int job)
{
	DumpRun    *run = arg;

	run->context.n_retries++;
	run_event_retry(&run->context, job);
	dump_worker_reset(&run->context, job);
}

static bool
run_refused(void *arg, int job)
{
	DumpRun    *run = arg;

	if (leader_run_refused(&run->context, do_job_here, run, job))
		return true;
	reset_job(run, job);
	return false;
}

static void
run_workers(DumpRun *run)
{
	WorkerTask	task = {
		.arg = run,
		.doing = "dumping",
		.max_retries = (int) run->context.options->retries,

		/*
		 * nobody ends the command of a worker that was killed: see
		 * sink_pipe.c
		 */
		.outlives_kill = run->context.options->pipe_command == NULL,
		.start = start_worker,
		.run = run_job,
		.run_refused = run_refused,
		.stop = stop_worker,
		.describe = describe_job,
		.reset = reset_job,
	};

	run_event_run(&run->context, PQdb(run->conn), NULL);
	run_event_stage("rows");
	run->conn = leader_run_workers(&run->context, run->conn, &task);
}

/* ----------
 * The main path
 * ----------
 */

/* Whether the extension, if there is one, is to compress. */
static void
choose_compressor(DumpContext *context)
{
	if (!context->options->compress_on_server ||
		context->compress.method == COMPRESS_NONE)
		return;
	if (context->extension->missing)
	{
		pg_log_error("compression on the server needs the extension pg_pardump: %s",
					 context->extension->missing);
		pg_log_error_hint("CREATE EXTENSION pg_pardump makes it, ALTER EXTENSION UPDATE renews it; or compress in the workers (client-%s).",
						  compress_method_name(context->compress.method));
		exit(1);
	}
	context->compression = pg_malloc(COMPRESS_SPEC_ERROR_BYTES);
	compress_spec_print(&context->compress, context->compression,
						COMPRESS_SPEC_ERROR_BYTES);
}

/*
 * Decide everything about the dump, and touch nothing.  Returns the table of
 * contents of the archive to be.
 */
static Toc *
plan_dump(DumpRun *run, StockPgDump *pg_dump)
{
	DumpContext *context = &run->context;
	Toc		   *toc = leader_read_plan(&run->context, run->conn, pg_dump);
	ChunkPlan  *plan;

	choose_compressor(context);
	plan = chunk_plan_make(run->conn, context->options, context->tables,
						   context->extension);
	context->plan = plan;
	toc = archive_layout_make(toc, context->tables, plan);
	context->objects = large_objects_read(run->conn, toc);
	context->queue = job_queue_make(plan, context->objects);
	return toc;
}

/* The snapshot and the locks are of no more use. */
static void
close_leader_session(DumpRun *run)
{
	interrupt_set_connection(NULL);
	PQfinish(run->conn);
}

/* Returns what it tells of itself. */
static Manifest *
finish_archive(DumpRun *run, ArchiveDir *dir, const Toc *toc)
{
	FileTotals	total = file_results_total(run->context.results);
	ArchiveFile *toc_file;
	Manifest   *manifest;

	large_object_lists_write(run->context.objects, run->context.archive,
							 run->context.results);
	toc_file = archive_file_begin(run->context.results,
								  run->context.results->toc,
								  archive_dir_take_toc(dir), NULL);
	toc_write(toc, &run->context.compress, archive_file_sink(toc_file));
	archive_file_complete(toc_file, 0);
	manifest = run_manifest_new(&run->context, toc);
	run_manifest_write(&run->context, manifest);
	run_event_stage("flush");
	archive_dir_publish(dir, run->context.options->sync_method);
	/* for the report, with the flushing */
	manifest->end_us = clock_wall_us();
	run_event_stage("end");
	pg_log_info("dumped " UINT64_FORMAT " row%s of %d table%s, " UINT64_FORMAT
				" byte%s, stored as " UINT64_FORMAT " byte%s",
				total.rows, units_plural(total.rows),
				run->context.tables->n_tables,
				units_plural(run->context.tables->n_tables),
				total.raw_bytes, units_plural(total.raw_bytes),
				total.stored_bytes, units_plural(total.stored_bytes));
	summary_tell(&run->context, progress_is_shown());
	return manifest;
}

/* Could the archive be made there? */
static void
check_directory(const Options *options)
{
	const char *path = options->directory;

	if (path && options->clean_output && pg_check_dir(path) > 1)
		(void) archive_dir_create(path, true);	/* removes nothing yet */
	else if (path)
		(void) archive_dir_check(path);
}

/* What would make a run with this plan fail, or may do so. */
static void
check_plan(DumpRun *run)
{
	const DumpContext *context = &run->context;
	const Options *options = context->options;

	source_check(run->conn, context);
	if (options->directory)
		archive_space_check(options->directory,
							context->plan->total_bytes + context->objects->est_bytes,
							context->compress.method != COMPRESS_NONE,
							options->clean_output);
}

/* --dry-run */
static void
show_plan(DumpRun *run, StockPgDump *pg_dump)
{
	check_directory(run->context.options);
	run->conn = leader_open(&run->context);
	(void) plan_dump(run, pg_dump);
	close_leader_session(run);
	dry_run_print(&run->context);
	cleanup_forget_all();
}

/* --check */
static void
check_only(DumpRun *run, StockPgDump *pg_dump)
{
	run->conn = leader_open(&run->context);
	(void) plan_dump(run, pg_dump);
	check_plan(run);
	close_leader_session(run);
	check_directory(run->context.options);
	findings_end();
}

void
dump_database(const Options *options, const char *argv0)
{
	/* exit callbacks and workers use it until the process ends */
	DumpRun    *run = pg_malloc0(sizeof(DumpRun));
	StockPgDump *pg_dump;
	ArchiveDir *dir;
	Manifest   *manifest;
	Toc		   *toc;

	run->context.options = options;
	progress_begin(options);
	run_event_begin(options);
	pg_dump = stock_pg_dump_find(options, argv0);
	run->context.compress =
		choose_compression(options, stock_pg_dump_major(pg_dump));
	if (options->dry_run)
	{
		show_plan(run, pg_dump);
		return;
	}
	if (options->check)
	{
		check_only(run, pg_dump);
		return;
	}
	run->conn = leader_open(&run->context);
	run_event_stage("plan");
	run->report = report_begin(options->report, options->directory);
	dir = options->pipe_command
		? archive_dir_create_piped(options->pipe_command)
		: archive_dir_create(options->directory, options->clean_output);
	run->context.archive = dir;

	toc = plan_dump(run, pg_dump);
	check_plan(run);
	findings_settle();
	archive_dir_clean(dir);		/* all options, locks, privileges are right */
	run->context.results = file_results_new(run->context.plan->n_files,
											run->context.objects->n_objects,
											run->context.objects->n_lists,
											options->jobs,
											run_manifest_checksum_type(options));
	run_workers(run);
	if (run->context.slot)
		(void) logical_slot_recheck(run->context.slot);
	close_leader_session(run);
	manifest = finish_archive(run, dir, toc);
	if (run->context.slot)
		logical_slot_print(run->context.slot);
	/* last: should it fail, all else is done and told */
	report_end(run->report, manifest, NULL, NULL);
}

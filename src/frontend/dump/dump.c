/*
 * dump.c
 *		The main path of a dump: snapshot, plan, chunks, workers, archive.
 *
 * The directory of the archive is created early, so that a path that cannot
 * be used is reported at once, and toc.dat gets its name last, so that a
 * directory with a toc.dat is a complete archive.  Exit callbacks undo
 * everything if the run fails in between: they end the workers, remove their
 * files, and drop the slot, in reverse order of their registration.
 *
 * With --tasks the rows are read by tasks on other hosts, which the leader
 * directs (tasks/task_leader.c); all other steps are the same.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "archive/archive_read.h"
#include "archive/toc_file.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "dump/dump.h"
#include "dump/dump_worker.h"
#include "options/own_options.h"
#include "report/report.h"
#include "source/leader.h"
#include "status/dry_run.h"
#include "status/metrics.h"
#include "status/summary.h"
#include "tasks/task_leader.h"

typedef struct Dump
{
	DumpPlan	plan;
	DumpPool	pool;
} Dump;

/* A callback of the pool: remove a lost worker's files. */
static void
dump_reset_job(void *arg, int job)
{
	DumpPool   *pool = arg;

	run_event_retry(&pool->run, job);
	dump_worker_reset(&pool->run, job);
}

static void
run_workers(Dump *dump)
{
	DumpPool   *pool = &dump->pool;
	WorkerTask	task = dump_worker_task(pool);

	task.has_slots = true;
	task.reset = dump_reset_job;
	run_event_run(pool->run.options, &dump->plan, NULL);
	run_event_stage("rows");
	if (pool->run.options->tasks)
		task_leader_run(&pool->source, &pool->run, &task);
	else
		leader_run_workers(&pool->source, &pool->run, &task);
}

/* ----------
 * Steps of a dump.
 * ----------
 */

/*
 * Returns the compression of the options.  Exits with a message if the
 * pg_restore of the same version as pg_dump cannot read it.
 */
static CompressSpec
choose_compression(const Options *options, int pg_dump_major)
{
	CompressSpec spec = options->compress_given ? options->compress :
		compress_spec_default(pg_dump_major);

	if (!compress_method_readable(spec.method, pg_dump_major))
	{
		pg_log_error("pg_restore of PostgreSQL %d cannot read archives compressed with \"%s\"",
					 pg_dump_major,
					 compress_method_name(spec.method));
		pg_fatal_hint("Use gzip or none, or use --pg-dump to specify a newer pg_dump.");
	}

	/*
	 * If two attempts of a task store the same file with --pipe, they must
	 * store the same bytes, because the manifest contains one checksum.  The
	 * library for gzip's level 1, ISA-L, does not guarantee this: now and
	 * then it misses a match, depending on the address of its state.  The
	 * library for the other levels, libdeflate, does.
	 */
	if (options->tasks && options->pipe_command &&
		spec.method == COMPRESS_GZIP && spec.level == 1)
		spec.level = 2;
	return spec;
}

/*
 * Write the files that describe the data, and publish the archive, after all
 * data was written.  The manifest contains the checksum of every other file,
 * so it is written after toc.dat, and before all files are flushed to disk.
 * The last step renames toc.dat, or writes it (--pipe).  Returns the
 * manifest.
 */
static Manifest *
finish_archive(const Run *run, ArchiveDir *dir)
{
	const DumpPlan *plan = run->plan;
	FileTotals	total = file_results_total(run->results);
	ArchiveFile *toc_file;
	Manifest   *manifest;
	uint64		bytes;

	large_object_lists_write(plan->objects, dir, run->results);
	toc_file = archive_file_begin(run->results, run->results->toc,
								  archive_dir_take_toc(dir), NULL);
	toc_write(plan->toc, &plan->compress, archive_file_sink(toc_file));
	archive_file_complete(toc_file, 0);

	/*
	 * The manifest contains the checksums of all other files, so it comes
	 * last.
	 */
	manifest = run_manifest_new(run);
	bytes = manifest_write(manifest, archive_dir_new_file(dir, MANIFEST_NAME));
	if (run->options->pipe_command)
		archive_read_check_manifest_size(bytes);
	if (plan->previous && plan->previous->copies)
		previous_archive_check_again(plan->previous, run->options);
	run_event_stage("flush");
	archive_dir_publish(dir, run->options->sync_method);
	cleanup_forget_all();		/* keeps the slot too */
	/* The time in the report includes flushing. */
	manifest->end_us = clock_wall_us();
	run_event_stage("end");
	pg_log_info("dump completed (tables: %d, rows: %s, size: %s, stored size: %s)",
				plan->tables->n_tables, units_count(total.rows),
				units_size(total.raw_bytes),
				units_size(total.stored_bytes));
	summary_report(run, progress_is_shown());
	return manifest;
}

/*
 * Could the archive be created in the directory?  With --clean-output an
 * existing archive must be one that this program may remove, which
 * archive_dir_create() checks; it removes nothing before archive_dir_clean().
 */
static void
check_directory(const Options *options)
{
	const char *path = options->directory;

	if (path && options->clean_output && pg_check_dir(path) > 1)
		/* This only checks and locks the directory. */
		(void) archive_dir_create(path, true, false);
	else if (path)
		(void) archive_dir_check(path, false);
}

static ArchiveNeed
archive_need(const Dump *dump)
{
	const Options *options = dump->pool.run.options;
	const DumpPlan *plan = &dump->plan;
	ArchiveNeed need = {
		.raw_bytes = dump_plan_new_bytes(plan),
		.compressed = plan->compress.method != COMPRESS_NONE,
		.clean = options->clean_output,
	};

	if (plan->previous)
	{
		need.previous = plan->previous->directory;
		need.copies = own_options_copy_method(options) == COPY_METHOD_COPY;
		need.previous_bytes = dump_plan_previous_bytes(plan);
	}
	return need;
}

/*
 * Log problems that would make a run with this plan fail, or that may do so.
 */
static void
check_plan(const Dump *dump)
{
	const Options *options = dump->pool.run.options;
	ArchiveNeed need = archive_need(dump);

	source_check(dump->pool.source.conn, options, &dump->plan);
	if (options->directory)
		archive_space_check(options->directory, &need);
}

/* ----------
 * The main paths.
 * ----------
 */

/*
 * Check the plan and the destination, print the result of --check, and exit.
 */
static void
check_only(Dump *dump, StockPgDump *pg_dump)
{
	ArchiveNeed need;

	leader_open(&dump->pool.source, pg_dump, &dump->plan);
	leader_plan(&dump->pool.source, pg_dump, &dump->plan);
	progress_end();
	if (dump->pool.run.servers)
		findings_note(server_share_plan(&dump->pool.run));
	need = archive_need(dump);
	dry_run_print_sums(dump->pool.run.options, &dump->plan, &need,
					   Max(dump->pool.run.n_servers, 1),
					   &dump->pool.source.rights.connections, NULL, NULL, NULL);

	/*
	 * With --all-databases, the archives of all databases share a disk, so
	 * the parent process adds up these numbers.
	 */
	if (run_figures_own())
	{
		run_figures_own()->tables = dump->plan.tables->n_tables;
		run_figures_own()->objects = dump->plan.objects->n_objects;
		run_figures_own()->expected_bytes = dump_plan_bytes(&dump->plan);
		run_figures_own()->raw_bytes = need.raw_bytes;
		run_figures_own()->stored_bytes = archive_space_expect(&need);
		run_figures_own()->compression = need.compressed ?
			compress_method_name(dump->plan.compress.method) : NULL;
	}
	check_plan(dump);
	leader_close(&dump->pool.source);

	/*
	 * This comes last, because it may end the program: the list is complete
	 * by then.
	 */
	check_directory(dump->pool.run.options);
	findings_end();
}

static void
make_archive(Dump *dump, StockPgDump *pg_dump)
{
	const Options *options = dump->pool.run.options;
	Report	   *page;
	ArchiveDir *dir;
	Manifest   *manifest;

	/*
	 * Begin the page before the slot is created and pg_dump starts, so that
	 * errors cost nothing.
	 */
	page = report_begin(options, options->directory);
	leader_open(&dump->pool.source, pg_dump, &dump->plan);
	run_event_stage("plan");

	/*
	 * Create the directory before the plan, so that an invalid path is
	 * reported at once.  It must also come before the workers start: on
	 * failure, exit callbacks run in reverse order, so workers end before
	 * their files are removed.
	 */
	dir = options->pipe_command
		? archive_dir_create_piped(options->pipe_command)
		: archive_dir_create(options->directory, options->clean_output,
							 options->sync_method != SYNC_NONE);
	dump->pool.run.archive = dir;

	leader_plan(&dump->pool.source, pg_dump, &dump->plan);
	check_plan(dump);
	findings_report();

	/*
	 * Remove the old archive only now, when options, privileges and locks
	 * have proved to be right: until here a failed run leaves it untouched.
	 */
	archive_dir_clean(dir);

	run_make_results(&dump->pool.run, dump->plan.checksum_type);
	dump->pool.reuse = reuse_new(&dump->plan);
	run_workers(dump);
	leader_note_history(&dump->pool.source, &dump->plan);

	/*
	 * The archive does not depend on the slot, so losing the slot is only a
	 * warning.
	 */
	if (dump->pool.source.slot)
		(void) logical_slot_recheck(dump->pool.source.slot,
									"If they are needed, dump again, into a new directory.");

	/*
	 * Release snapshot and locks before the files are flushed to disk.
	 * Flushing can take minutes, in which the snapshot would hold back vacuum
	 * and the locks would block ALTER TABLE for no benefit.
	 */
	leader_close(&dump->pool.source);

	manifest = finish_archive(&dump->pool.run, dir);
	if (dump->pool.source.slot)
		logical_slot_print(dump->pool.source.slot);
	metrics_end(true);

	/*
	 * Write the page last: if that fails, everything else is complete and has
	 * been reported.
	 */
	report_end(page, manifest, NULL, NULL);
}

void
dump_database(const Options *options, const char *argv0)
{
	/*
	 * The struct is never freed, because exit callbacks and workers use it
	 * until the process ends.
	 */
	Dump	   *dump = pg_malloc0(sizeof(Dump));
	StockPgDump *pg_dump;

	dump->pool.source.options = options;
	dump->pool.run.options = options;
	dump->pool.run.plan = &dump->plan;

	progress_begin(options->progress, options->no_progress);

	/*
	 * Register these exit callbacks first: they run in reverse order, so
	 * these run when everything else has been undone, and report the final
	 * state.
	 */
	run_metrics_begin(options, &dump->pool.run);
	run_event_begin(options);
	pg_dump = stock_pg_dump_find(options, argv0);
	/* Check both archives before the plan, which may take minutes. */
	if (options->incremental_pipe)
	{
		interrupt_install_leader();
		dump->plan.fetched = previous_archive_fetch(options);
	}
	else if (options->incremental)
		previous_archive_check(options->incremental, options->directory);
	if (options->dry_run)
		check_directory(options);

	/*
	 * Connect before the directory is created: a wrong password must not
	 * leave an empty directory behind.
	 */
	leader_connect(&dump->pool.source);
	if (dump->pool.source.standbys)
	{
		dump->pool.run.servers = standby_names(dump->pool.source.standbys);
		dump->pool.run.n_servers = dump->pool.source.standbys->n;
	}
	stock_pg_dump_check(pg_dump, options, PQserverVersion(dump->pool.source.conn));
	dump->plan.compress =
		choose_compression(options, stock_pg_dump_major(pg_dump));
	if (options->dry_run)
	{
		leader_open(&dump->pool.source, pg_dump, &dump->plan);
		leader_plan(&dump->pool.source, pg_dump, &dump->plan);
		progress_end();
		leader_close(&dump->pool.source);
		dry_run_print(dump->pool.run.options, &dump->plan);
		if (dump->pool.run.servers)
			fprintf(event_log_text_output(), "%s\n", server_share_plan(&dump->pool.run));
		cleanup_forget_all();
	}
	else if (options->check)
		check_only(dump, pg_dump);
	else
		make_archive(dump, pg_dump);
}

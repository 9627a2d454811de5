/*
 * restore.c
 *		The main path of a restore: plan, definitions, rows, the rest.
 *
 * Errors are found as early as possible: restore.c reads the archive, asks
 * stock pg_restore which entries the options select, and checks the target.
 * From then on, every step is noted in a journal on the target, in the
 * transaction that does the step (load/restore_journal.h), so that --resume
 * can continue after any interruption.
 *
 * Errors are handled as in pg_restore: they are reported and counted, and the
 * restore continues, unless --exit-on-error is given.
 *
 * This file also runs the pool of workers.  Jobs are done in waves: if the
 * target already has foreign keys, referenced tables are loaded before the
 * tables that reference them.  Several workers can load pieces of one large
 * file.  These jobs share the file's result.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "archive/archive_piped.h"
#include "base/buffer.h"
#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "base/units.h"
#include "compare/compare.h"
#include "load/analyze.h"
#include "load/definitions.h"
#include "restore/restore.h"
#include "restore/restore_prepare.h"
#include "status/dry_run.h"
#include "status/metrics.h"
#include "status/run_progress.h"
#include "status/summary.h"
#include "verify/verify.h"

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
/*
 * A worker was lost.  Nothing has to be undone: the end of its session has
 * rolled back the transaction of the job.
 */
static void
restore_pool_reset_job(void *arg, int job)
{
	RestoreWork *work = arg;

	if (job < work->n_jobs)
		run_event_retry(work->run, work->first_job + job);
	else
		work->run->n_retries++;
}

/*
 * Several jobs load pieces of one file.  The file is complete when the last
 * of them is.
 */
static void
shared_job_is_done(RestoreWork *work, const Job *job)
{
	const DumpPlan *plan = work->run->plan;
	const DataFile *file = plan->queue->files[job->first];
	int			no = file - plan->chunks->files;

	if (--work->jobs_left[no] > 0)
		return;
	restore_pieces_end(work->shared[no]);

	/*
	 * Note that the file is complete, so that a later run need not look for
	 * pieces that are left.  Without the line it would find that all pieces
	 * have been loaded, so an error does no harm.
	 */
	if (!work->has_failed[no])
		(void) restore_journal_try_done(work->journal,
										work->target->conn,
										restore_journal_file(file));
	run_file_result(work->run, file)->done = true;
}

static void
restore_pool_job_is_done(void *arg, int job_no)
{
	RestoreWork *work = arg;
	const Job  *job = &work->run->plan->queue->jobs[work->first_job + job_no];

	if (job_no < work->n_jobs && job->shared)
		shared_job_is_done(work, job);
}

/*
 * Create what workers share for each file that several jobs load.  It must
 * exist before the workers are forked, as it is in shared memory.
 */
static void
prepare_shares(RestoreWork *work)
{
	const Options *options = work->run->options;
	const DumpPlan *plan = work->run->plan;

	for (int i = 0; i < plan->queue->n_jobs; i++)
	{
		const Job  *job = &plan->queue->jobs[i];
		int			no;

		if (!job->shared)
			continue;
		no = plan->queue->files[job->first] - plan->chunks->files;
		if (work->jobs_left[no]++ > 0)
			continue;
		/* several workers add to the result of this file */
		work->run->results->shares[no] =
			shared_memory_new(work->run->results->n_workers, sizeof(FileResult));
		work->shared[no] = restore_pieces_new(options->jobs,
											  archive_plan_piece_bytes(options));
	}
}

/*
 * Files that commands return may turn out to be long while a worker loads
 * them, and then other workers help it.  Without a journal, the CRCs of
 * pieces are not recorded, so it is not known whether all of them read the
 * same rows.  Then each file is loaded with one COPY.
 */
static void
prepare_rings(RestoreWork *work)
{
	const Run  *run = work->run;
	FileResults *results = run->results;

	if (!work->journal->is_kept)
		work->rings = NULL;
	if (work->rings == NULL)
		return;
	work->jobs_done = shared_memory_new(run->plan->queue->n_jobs, sizeof(bool));
	for (int i = 0; i < results->n_files; i++)
		results->shares[i] = work->shares + (size_t) i * results->n_workers;
	results->is_shared = work->long_files->is_long;
}

/* Run the pool for n jobs, which follow each other in the queue. */
static void
run_jobs(RestoreWork *work, int first, int n)
{
	PoolWatch	watch = progress_watch();
	WorkerTask	task = restore_worker_task(work);

	task.reset = restore_pool_reset_job;
	task.done = restore_pool_job_is_done;
	work->first_job = first;
	work->n_jobs = n;
	task.n_reservable = n;

	/*
	 * Workers that get one of these additional jobs help with long files.  At
	 * least one worker is left for the jobs of the plan.
	 */
	if (work->rings)
		n += work->run->options->jobs - 1;
	worker_pool_run(&task, &watch, work->run->options->jobs, n);
}

/*
 * Files without a manifest may turn out to be long when they are read.  A
 * worker then leaves such a file, and after the wave all workers load it
 * together, in pieces.  The run's plan is replaced meanwhile, because job
 * numbers refer to its queue.
 */
static void
run_long(RestoreWork *work, int first, int n)
{
	Run		   *run = work->run;
	const DumpPlan *plan = run->plan;
	DumpPlan	rest = *plan;

	rest.queue = restore_long_queue(work->long_files, first, n,
									run->options->jobs);
	run->plan = &rest;
	prepare_shares(work);
	if (rest.queue->n_jobs > 0)
		run_jobs(work, 0, rest.queue->n_jobs);
	run->plan = plan;
}

/*
 * Do all jobs of the run's plan, wave by wave, and show the progress.  This
 * also creates the memory that workers share for their jobs.
 */
static void
restore_pool_run(RestoreWork *work)
{
	const Run  *run = work->run;
	const JobQueue *queue = run->plan->queue;
	int			n_files = run->plan->chunks->n_files;

	work->jobs_left = pg_malloc0((n_files + 1) * sizeof(int));
	work->commits = shared_memory_new(queue->n_jobs, sizeof(TargetCommit));
	work->shared = pg_malloc0((n_files + 1) * sizeof(SharedRows *));
	prepare_shares(work);
	prepare_rings(work);
	run_progress_begin(run);
	advice_give(run->options, run->plan);
	for (int first = 0, n; first < queue->n_jobs; first += n)
	{
		/*
		 * The pool has no dependencies between jobs, so each wave is a run of
		 * the pool of its own.  Jobs of a wave are neighbours in the queue.
		 */
		n = 1;
		while (first + n < queue->n_jobs &&
			   queue->jobs[first + n].wave == queue->jobs[first].wave)
			n++;
		run_jobs(work, first, n);
		if (work->rings == NULL)
			run_long(work, first, n);
	}
	if (work->rings)
		restore_rings_end(work->rings);
	progress_end();
}

/* Warn once of large objects for which commands have returned no data. */
static void
warn_empty(const Restore *restore)
{
	const LargeObjects *objects = restore->run.plan->objects;
	const Archive *archive = restore->work.archive;
	PQExpBufferData names = buffer_new();
	int			n = 0;

	for (int i = 0; i < objects->n_groups; i++)
	{
		const LargeObjectGroup *group = &objects->groups[i];

		for (int j = 0; j < group->n_oids; j++)
		{
			FileResult *result = &restore->run.results->objects[group->first_object + j];

			if (result->no_data && result->done && !result->incomplete)
				archive_piped_add_empty(&names, &n,
										archive_name_large_object(group->oids[j],
																  archive->toc->method));
			result->no_data = false;
		}
	}
	archive_piped_warn_empty(archive, names.data, n);
	termPQExpBuffer(&names);
}

/*
 * Report what workers have found, and add what they have counted to the run,
 * for the summary and the metrics.  This is called when all rows are loaded,
 * and as an exit callback.
 */
static void
restore_sum_up(void *arg)
{
	Restore    *restore = arg;

	/* a run that fails early has no workers */
	if (restore->work.n_read_again == NULL)
		return;
	restore->run.n_retries += *restore->work.n_read_again;
	*restore->work.n_read_again = 0;
	warn_empty(restore);
}

static Restore *
new_restore(const Options *options)
{
	Restore    *restore = pg_malloc0(sizeof(Restore));

	restore->options = *options;
	restore->target.options = &restore->options;
	restore->target.params = options->connection;
	restore->run.options = &restore->options;
	restore->stages.target = &restore->target;
	restore->stages.as_pg_restore = true;
	restore->stages.setup.options = &restore->options;
	restore->stages.setup.args = options->make_args;
	toc_context_share();
	restore->n_errors = shared_memory_new(1, sizeof(int));
	restore->stages.setup.n_errors = restore->n_errors;
	return restore;
}

/*
 * Load the rows, while another process builds indexes of tables that are
 * complete.  The journal gets a line only when all of it is done: with that
 * line --resume skips all rows and all indexes.
 */
static void
restore_rows_and_indexes(Restore *restore)
{
	LoadAccount *account = &restore->account;
	IndexPlan	indexes = {
		.stages = &restore->stages,
		.journal = restore->journal,
		.tables = restore->run.plan->tables,
		.is_loaded = run_table_is_done,
		.arg = &restore->run,
		.add_rest = run_progress_add_rest,
	};
	IndexBuilder *builder;

	run_event_run(&restore->options, restore->run.plan,
				  restore->target.address);
	if (restore->options.resume)
		run_event_resumed(&restore->run);
	load_account_stage(account, LOAD_STAGE_ROWS);
	builder = index_builder_start(&indexes);
	load_account_indexes(account, &restore->run, index_builder_builds(builder));
	restore_pool_run(&restore->work);
	restore_sum_up(restore);
	load_account_stage(account, LOAD_STAGE_INDEXES);

	/*
	 * The process that builds indexes has ended with an error of its own, for
	 * example a lost server.  --resume can continue from here, which is
	 * better than a target without its indexes.
	 */
	if (!index_builder_finish(builder))
		exit(1);
	restore_state_renew(restore);
	restore_unlogged_check(&restore->work, restore->target.conn, false);
	if (!restore_journal_is_done(restore->journal, RESTORE_JOURNAL_ROWS))
		restore_state_note_done(restore, RESTORE_JOURNAL_ROWS);
}

/*
 * Create everything that must not exist while rows are loaded.  Event
 * triggers are created last, so that they do not fire for the statements of
 * this run.  With a journal, they are created in the transaction that removes
 * it.
 */
static void
complete_target(Restore *restore)
{
	const Options *options = &restore->options;
	const DumpPlan *plan = restore->run.plan;

	load_account_stage(&restore->account, LOAD_STAGE_REST);
	if (!restore_state_is_done(restore, RESTORE_JOURNAL_REST))
	{
		definitions_make_rest(&restore->stages, restore->journal);
		restore_state_note_done(restore, RESTORE_JOURNAL_REST);
	}
	load_account_stage(&restore->account, LOAD_STAGE_ANALYZE);
	if (!options->no_analyze)
		analyze_target(&restore->target, plan->tables, plan->toc);
	restore_state_renew(restore);
	/* check this as late as possible, after the steps that may take long */
	if (!restore->journal->is_kept)
		target_history_check_unlogged(restore->target.conn, plan->tables,
									  restore->target.incarnation);

	/*
	 * For a restore of all databases, note that this restore is about to end.
	 * If this process dies before the next note, the missing journal shows
	 * that the restore is complete.  Without a journal, nothing would show
	 * that.
	 */
	if (restore->journal->is_kept)
		restore_journal_note(&restore->target, false, *restore->n_errors);
	definitions_make_event_triggers(&restore->stages, restore->journal);
	restore->account.can_resume = false;
	restore_journal_note(&restore->target, true, *restore->n_errors);
}

/*
 * For --check, lines about the target and the archive: what it was made from
 * and when, as pg_dump notes it (in the time zone of its session), and what a
 * run would load and build.  Only a manifest contains the number of rows.
 * Owned.
 */
static char *
describe_check(const Restore *restore)
{
	const DumpTables *tables = restore->run.plan->tables;
	const Toc  *toc = restore->archive->toc;
	double		rows = 0;
	int			n_entries;
	int			n_indexes;
	PQExpBufferData text = buffer_new();

	free(restore_schedule_entries(restore->stages.schedule, RESTORE_INDEXES,
								  &n_entries, &n_indexes));
	for (int i = 0; i < tables->n_tables; i++)
		rows += tables->tables[i].est_rows;
	appendPQExpBuffer(&text, "  target: %s\n  archive: ",
					  connection_server_name(restore->target.conn));
	if (restore->options.pipe_command == NULL)
		appendPQExpBuffer(&text, "\"%s\", ", printable(restore->options.restore));
	if (toc->dbname)
		appendPQExpBuffer(&text, "database \"%s\", ", printable(toc->dbname));
	appendPQExpBuffer(&text, "dumped %04d-%02d-%02d %02d:%02d\n  ", toc->created[5] + 1900,
					  toc->created[4] + 1, toc->created[3], toc->created[2],
					  toc->created[1]);
	if (restore->archive->manifest)
		appendPQExpBuffer(&text, "rows: %s, ", units_count((uint64) rows));
	appendPQExpBuffer(&text, "indexes and constraints: %d\n", n_indexes);
	return text.data;
}

/* Print a warning at the end, as pg_restore does. */
static void
report_errors(const Restore *restore)
{
	const Run  *run = &restore->run;
	bool		all_rows = true;
	char	   *names;

	if (*restore->n_errors == 0)
		return;
	for (int i = 0; i < run->plan->tables->n_tables; i++)
		all_rows = all_rows && run_table_is_complete(run, i);
	pg_log_warning("errors ignored on restore: %d", *restore->n_errors);
	names = toc_context_entries(run->plan->toc);
	if (names)
		pg_log_warning_detail("Entries with errors: %s.", names);
	pg_log_warning_hint(FAILED_STATEMENTS_HINT);
	if (!all_rows)
		pg_log_warning_hint("Truncate incomplete tables, and restore their rows with --data-only and --table.");
}

/* --compare-with */
static void
compare(Restore *restore)
{
	int			n_different;

	load_account_stage(&restore->account, LOAD_STAGE_COMPARE);
	n_different = compare_restore(&restore->run, &restore->target,
								  &restore->account.compared);
	if (n_different == 0)
		return;
	report_errors(restore);
	pg_log_error(ngettext("source and target differ in %d object",
						  "source and target differ in %d objects",
						  n_different), n_different);
	pg_fatal_hint("If the source was not changed after the dump, truncate tables that differ, and restore their rows again with --data-only and --table.");
}

/*
 * --verify: exit if the archive is damaged.  verify_archive() removes all
 * exit callbacks at its end, so the caller registers those of the restore
 * later.
 */
static void
verify_first(const Options *options, const Run *run)
{
	Options		verify = {.verify = options->restore,.jobs = options->jobs,
	.progress = options->progress,.no_progress = options->no_progress};

	run_metrics_begin(options, run);

	/*
	 * verify_archive() has removed the exit callback of the metrics.  After a
	 * success, the caller registers it again.
	 */
	if (verify_archive(&verify) == 0)
		return;
	metrics_end(false);
	exit(1);
}

/* -l of an archive that commands return.  Only toc.dat is read. */
static int
list_piped(const Options *options, const char *program)
{
	Archive    *archive;
	int			status;

	interrupt_install_leader();
	archive = archive_piped_open(options);
	status = stock_list_run(program, options, archive->commands->directory);
	archive_piped_forget_toc(archive);
	return status;
}

int
restore_database(const Options *options, const char *argv0)
{
	Restore    *restore = new_restore(options);
	char	   *program = child_program_choose(options->pg_restore_path, argv0,
											   "pg_restore", "--pg-restore");
	Report	   *page;

	if (options->list && options->pipe_command)
		return list_piped(options, program);
	if (options->by_stock)
		restore_plan_leave_to_stock(program, options, options->by_stock);
	if (options->verify_first)
		verify_first(options, &restore->run);
	progress_begin(options->progress, options->no_progress);

	/*
	 * Register these exit callbacks first: they run in reverse order, so
	 * these run when everything else has been undone, and report the final
	 * state.
	 */
	run_metrics_begin(options, &restore->run);
	cleanup_push(restore_sum_up, restore);
	run_event_begin(options);
	interrupt_install_leader();
	restore->stages.setup.program = program;
	load_account_begin(&restore->account, &restore->run);
	restore_plan_make(restore);
	page = report_begin(options, options->restore);
	restore_prepare_open(restore);
	/* up to here, nothing was changed on the target */
	if (options->check)
	{
		ConnectionsLeft left = connection_limit_left(restore->target.conn, true);

		char	   *database = pg_strdup(restore->new_name ? restore->new_name :
										 PQdb(restore->target.conn));
		char	   *facts = describe_check(restore);

		session_close(restore->target.conn);
		dry_run_print_sums(options, restore->run.plan, NULL, 0, NULL, &left,
						   database, facts);
		findings_end();
		return 0;
	}
	restore_prepare_target(restore);
	restore_rows_and_indexes(restore);

	/*
	 * Foreign keys and triggers are created after the rows, which they must
	 * not check.
	 */
	complete_target(restore);
	if (options->compare_with)
		compare(restore);
	load_account_stage(&restore->account, LOAD_STAGE_END);

	restore->account.database = pg_strdup(PQdb(restore->target.conn));
	restore->account.n_errors = *restore->n_errors;
	restore->account.incomplete = *restore->n_errors > 0;
	if (progress_is_shown())
		load_account_print(&restore->account, stderr);
	summary_report(&restore->run, false);
	if (run_figures_own())
		run_figures_own()->errors = *restore->n_errors;
	interrupt_set_connection(NULL);
	session_close(restore->target.conn);
	/* until now, a failure had to be reported, and undone */
	cleanup_forget_all();
	restore_stage_end(&restore->stages);
	report_errors(restore);
	metrics_end(*restore->n_errors == 0);
	/* last, because everything else is complete if this fails */
	load_page_end(page, &restore->account, *restore->n_errors,
				  restore->target.address);
	return *restore->n_errors > 0 ? 1 : 0;
}

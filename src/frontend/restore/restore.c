/*
 * restore.c
 *		The main path of a restore: plan, definitions, rows, the rest.
 */
#include "base/fe_compat.h"

#include "base/cleanup.h"
#include "base/findings.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "base/shared_memory.h"
#include "base/units.h"
#include "compare/compare_source.h"
#include "definitions/definitions.h"
#include "job_log/job_log_archive.h"
#include "job_log/job_log_open.h"
#include "load/load_account.h"
#include "load/load_page.h"
#include "options/restore_options.h"
#include "progress/progress.h"
#include "report/report.h"
#include "restore/restore.h"
#include "restore/restore_freeze.h"
#include "restore/restore_log.h"
#include "restore/restore_order.h"
#include "restore/restore_pool.h"
#include "restore/restore_resume.h"
#include "restore/restore_tables.h"
#include "status/run_event.h"
#include "status/summary.h"
#include "stock/stock_list.h"
#include "target/analyze.h"
#include "target/index_builder.h"
#include "target/restore_schedule.h"
#include "target/restore_stage.h"
#include "target/target.h"
#include "target/target_check.h"
#include "target/target_history.h"
#include "toc/index_attach.h"
#include "verify/verify.h"

/* One restore; exit callbacks, and workers, use it. */
typedef struct Restore
{
	Options		options;		/* the user's, and what follows from what is
								 * restored */
	Archive    *archive;
	ArchivePlan *plan;
	Target		target;
	Run			run;
	RestoreWork work;
	const char *new_name;		/* of the database to create, or NULL */
	RestoreStages stages;
	LoadAccount account;
	volatile int *n_errors;		/* in shared memory */
	JobLogRestore identity;		/* of this restore, for its log */
	JobLog	   *log;			/* NULL until it is open */
	int			n_noted;		/* errors that are in the log */
} Restore;

/* ----------
 * The plan
 * ----------
 */

/* Exit callbacks and workers use it until the process ends. */
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
	restore->n_errors = shared_memory_new(1, sizeof(int));
	restore->stages.setup.n_errors = restore->n_errors;
	return restore;
}

/* Stock pg_restore does it all; without a reason as nobody expects else. */
static void
leave_to_stock(const char *program, const Options *options, const char *reason)
{
	restore_options_check_stock(options, reason);
	if (*reason)
		pg_log_warning("stock pg_restore does the work, without workers of ours: %s",
					   reason);
	stock_list_become(program, options);
}

/*
 * What is restored decides what only makes sense with data alone, as
 * pg_restore has it (pg_backup_archiver.c:RestoreArchive).
 */
static void
settle_options(Restore *restore)
{
	Options    *options = &restore->options;

	options->data_only = restore_tables_is_data_only(restore->plan->plan.toc);
	if (!options->data_only)
		options->disable_triggers = false;
	if (restore_tables_has_statistics(restore->plan->plan.toc))
		options->no_analyze = true;
}

/* The source has more rows than an archive of parts of tables. */
static void
refuse_parts(const ArchivePlan *plan)
{
	for (int i = 0; i < plan->plan.chunks->n_files; i++)
	{
		const ManifestFile *file = plan->rows[i].want;

		if (file && (file->where || file->sample))
			pg_fatal("option --compare-with cannot be used: of table %s the archive has only some rows",
					 printable(plan->plan.tables->tables[plan->plan.chunks->files[i].table].name));
	}
}

/* The work that is the same for all workers. */
static void
prepare_work(Restore *restore)
{
	const DumpPlan *plan = &restore->plan->plan;
	RestoreWork *work = &restore->work;

	run_make_results(&restore->run, CHECKSUM_TYPE_NONE);
	work->archive = restore->archive;
	work->plan = restore->plan;
	work->target = &restore->target;
	work->run = &restore->run;
	work->left_out = shared_memory_new(plan->chunks->n_files, sizeof(bool));
	work->objects_left_out = shared_memory_new(plan->objects->n_groups,
											   sizeof(bool));
	work->has_failed = shared_memory_new(plan->chunks->n_files, sizeof(bool));
	work->n_errors = restore->n_errors;
}

/* What is restored, in which pieces; and what is made on the target, when. */
static void
make_plan(Restore *restore)
{
	const char *program = restore->stages.setup.program;
	const DumpPlan *plan;
	int			n_ids;
	int		   *ids;

	if (archive_open_kind(restore->options.restore) == ARCHIVE_TAR)
		leave_to_stock(program, &restore->options, STOCK_READS_TAR);
	restore->archive = archive_open(restore->options.restore);
	/* stock's own archives would let indexes be attached side by side */
	index_attach_chain(restore->archive->toc);
	ids = stock_list_read(program, &restore->options, &n_ids);
	if (restore_tables_has_inserts(restore->archive->toc, ids, n_ids))
		leave_to_stock(program, &restore->options,
					   "the archive has rows as INSERT commands");
	restore->plan = archive_plan_make(restore->archive, ids, n_ids,
									  &restore->options);
	plan = &restore->plan->plan;
	if (restore->options.compare_with)
		refuse_parts(restore->plan);
	settle_options(restore);
	restore->identity.archive = job_log_archive(restore->archive);
	restore->identity.selection = restore_resume_selection(&restore->options,
														   ids, n_ids);
	free(ids);
	restore->run.plan = plan;
	restore->target.encoding = plan->encoding;
	restore->stages.setup.toc = plan->toc;
	restore->stages.schedule = restore_schedule_make(plan->toc, plan->tables,
													 restore->options.create);
	restore_resume_refuse_log(restore->stages.schedule);
	restore->new_name = restore_tables_new_database(plan->toc);
	prepare_work(restore);
}

/* ----------
 * The main path
 * ----------
 */

/*
 * Connect to the target, and look at it before anything is made there.  What
 * it lacks is an error among others to pg_restore, and so no reason to end,
 * unless the first error is.
 */
static void
open_target(Restore *restore)
{
	const Options *options = &restore->options;
	const DumpPlan *plan = restore->run.plan;

	target_open(&restore->target);
	if (options->compare_with)
		compare_source_check(options, &restore->target, restore->new_name);
	restore_stage_leave_out_extension(&restore->stages);
	if (!options->check && !options->exit_on_error)
		return;
	target_check(restore->target.conn, restore->stages.schedule, options,
				 plan->queue->n_jobs, plan->encoding,
				 options->resume ? NULL : restore->new_name);
	if (restore->new_name == NULL && !options->resume)
		target_check_tables(restore->target.conn, plan->tables, options->clean);
	findings_settle();
}

/* --check has seen it all. */
static void
end_check(Restore *restore)
{
	PQfinish(restore->target.conn);
	findings_end();
}

/* ----------
 * Stages, and their lines in the log
 * ----------
 */

/* By a run before; then its errors count here, too. */
static bool
is_done_before(Restore *restore, const char *stage)
{
	const JobLogLine *line = job_log_find(restore->log, stage);

	if (line == NULL)
		return false;
	(void) __sync_fetch_and_add(restore->n_errors, line->errors);
	restore->n_noted += line->errors;
	return true;
}

/* With the errors since the stage before it. */
static void
note_done(Restore *restore, const char *stage)
{
	int			n_errors = *restore->n_errors;

	job_log_done(restore->log, restore->target.conn, stage,
				 n_errors - restore->n_noted);
	restore->n_noted = n_errors;
}

/* Make the database, if that is asked for, and go there. */
static void
enter_database(Restore *restore)
{
	if (restore->new_name && restore->options.resume)
		target_enter(&restore->target, restore->new_name);
	restore_stage_begin(&restore->stages);
	if (restore->new_name && !restore->options.resume)
		restore_stage_database(&restore->stages, restore->new_name);
	target_begin(&restore->target);
	restore->log = job_log_open(&restore->target, &restore->identity);
	restore->work.log = restore->log;
	if (!is_done_before(restore, RESTORE_LOG_DATABASE))
		note_done(restore, RESTORE_LOG_DATABASE);
}

/*
 * A run before has ended while it made large objects: which of them it has
 * made, and which were there before, cannot be told.  --clean drops them.
 */
static void
refuse_half_made(Restore *restore)
{
	if (!job_log_is_done(restore->log, RESTORE_LOG_OBJECTS_BEGUN))
		return;
	if (restore->options.clean && !restore->options.create)
		return;
	pg_log_error("the restore cannot be resumed: it ended while large objects were being made");
	pg_log_error_hint("No rows were loaded yet.  Resume with --clean, which drops the archive's large objects, or begin again in an empty database.");
	exit(1);
}

/* Make large objects, still empty. */
static void
make_objects(Restore *restore)
{
	if (!restore_schedule_has(restore->stages.schedule, RESTORE_LARGE_OBJECTS))
		return;
	refuse_half_made(restore);
	job_log_done(restore->log, restore->target.conn, RESTORE_LOG_OBJECTS_BEGUN,
				 0);
	restore_stage_large_objects(&restore->stages);
}

/*
 * Drop what --clean drops, and look which tables are there then: what is made
 * later is not dropped by --resume, nor taken for what was there before.
 */
static void
drop(Restore *restore)
{
	RestoreWork *work = &restore->work;
	PGconn	   *conn;
	bool	   *before;

	if (is_done_before(restore, RESTORE_LOG_DROP))
		return;
	restore_stage_drop(&restore->stages);
	conn = restore->target.conn;
	before = restore_tables_look(conn, restore->run.plan->tables);
	/* tables that are there now cannot be created */
	if (restore->options.no_data_for_failed_tables)
		restore_tables_leave_out(work, before, true);
	PQclear(target_query(conn, "BEGIN", 0, NULL));
	restore_resume_note_left_out(work, conn);
	note_done(restore, RESTORE_LOG_DROP);
	PQclear(target_query(conn, "COMMIT", 0, NULL));
	free(before);
}

/*
 * Make what rows need; which tables are new is of use for their rows.  Those
 * that a run before has made are not taken for new.
 */
static void
make_tables(Restore *restore)
{
	RestoreWork *work = &restore->work;
	const DumpPlan *plan = restore->run.plan;
	bool	   *before = restore_tables_look(restore->target.conn, plan->tables);
	bool	   *after;

	definitions_make(&restore->stages, restore->log);
	/* a restart until now is of no matter: what was done is on the disk */
	restore->target.incarnation = target_history_incarnation(restore->target.conn);
	make_objects(restore);
	after = restore_tables_look(restore->target.conn, plan->tables);
	if (restore->options.no_data_for_failed_tables)
		restore_tables_leave_out(work, after, false);
	work->fresh = restore_freeze_choose(restore->target.conn, plan, before,
										after);
	free(before);
	free(after);
}

/* What rows need. */
static void
make_definitions(Restore *restore)
{
	PGconn	   *conn;

	if (is_done_before(restore, RESTORE_LOG_DEFINITIONS))
		return;
	/* a run before may have dropped some, and have made none yet */
	if (restore->options.resume && restore->options.clean)
		restore->options.if_exists = true;
	drop(restore);
	make_tables(restore);
	conn = restore->target.conn;
	PQclear(target_query(conn, "BEGIN", 0, NULL));
	restore_resume_note_left_out(&restore->work, conn);
	note_done(restore, RESTORE_LOG_DEFINITIONS);
	PQclear(target_query(conn, "COMMIT", 0, NULL));
}

static void
prepare_target(Restore *restore)
{
	enter_database(restore);
	load_account_stage(&restore->account, LOAD_STAGE_DEFINITIONS);
	make_definitions(restore);
	if (restore->options.data_only && !restore->options.disable_triggers)
		restore->plan->plan.queue = restore_order_make(restore->target.conn,
													   restore->plan);
	restore_resume_skip(&restore->work);
	restore_resume_skip_indexes(&restore->work, restore->stages.schedule);
	(void) is_done_before(restore, RESTORE_LOG_ROWS);
}

static void
restore_rows_and_indexes(Restore *restore)
{
	LoadAccount *account = &restore->account;
	const DumpPlan *plan = restore->run.plan;
	IndexPlan	indexes = {
		.schedule = restore->stages.schedule,
		.tables = plan->tables,
		.setup = restore->stages.setup,
		.target_address = restore->target.address,
		.is_loaded = run_table_is_done,
		.arg = &restore->run,
	};

	/* if the target crashes, workers go on, and nothing built may be lost */
	indexes.setup.address = target_restore_address(&restore->target, "local");
	run_event_run(&restore->options, plan, restore->target.address);
	if (restore->options.resume)
		run_event_resumed(&restore->run);
	restore->work.targets = target_find_tables(restore->target.conn,
											   plan->tables);
	load_account_stage(account, LOAD_STAGE_ROWS);
	account->builder = index_builder_start(&indexes);
	restore->run.beside.what = "indexes ";
	restore->run.beside.done = index_builder_counter(account->builder);
	restore->run.beside.total = index_builder_entries(account->builder);
	restore_pool_run(&restore->work, &restore->run);
	load_account_stage(account, LOAD_STAGE_INDEXES);
	if (!index_builder_finish(account->builder) && restore->options.exit_on_error)
		exit(1);
	job_log_renew(restore->log, &restore->target);
	target_renew(&restore->target);
	if (!job_log_is_done(restore->log, RESTORE_LOG_ROWS))
		note_done(restore, RESTORE_LOG_ROWS);
}

static void
complete_target(Restore *restore)
{
	const Options *options = &restore->options;
	const DumpPlan *plan = restore->run.plan;

	load_account_stage(&restore->account, LOAD_STAGE_REST);
	if (!is_done_before(restore, RESTORE_LOG_REST))
	{
		definitions_make_rest(&restore->stages, restore->log);
		note_done(restore, RESTORE_LOG_REST);
	}
	load_account_stage(&restore->account, LOAD_STAGE_ANALYZE);
	/* after all that may take long: what the target lost is lost by now */
	target_history_check_unlogged(restore->target.conn, plan->tables,
								  restore->target.incarnation);
	if (!options->no_analyze)
		analyze_target(&restore->target, plan->tables, plan->toc);
	job_log_renew(restore->log, &restore->target);
	job_log_end(restore->log);
}

/* What pg_restore's last words are, too. */
static void
tell_errors(const Restore *restore)
{
	if (*restore->n_errors > 0)
		pg_log_warning("errors ignored on restore: %d", *restore->n_errors);
}

/* --compare-with */
static void
compare(Restore *restore)
{
	int			n_different;

	load_account_stage(&restore->account, LOAD_STAGE_COMPARE);
	target_renew(&restore->target);
	n_different = compare_source(&restore->run, &restore->target);
	if (n_different == 0)
		return;
	tell_errors(restore);
	pg_fatal("source and target differ in %d place%s", n_different,
			 units_plural(n_different));
}

/* All that can be is on the target.  Returns the exit status. */
static int
end_restore(Restore *restore, Report *page)
{
	if (progress_is_shown())
		load_account_print(&restore->account, stderr);
	summary_tell(&restore->run, false);
	interrupt_set_connection(NULL);
	PQfinish(restore->target.conn);
	/* not before: until now a failure was to be accounted for, and undone */
	cleanup_forget_all();
	restore_stage_end(&restore->stages);
	tell_errors(restore);
	/* last: should it fail, all else is done and told */
	load_page_end(page, &restore->account, *restore->n_errors,
				  restore->target.address);
	return *restore->n_errors > 0 ? 1 : 0;
}

/* --verify: a damaged archive is not restored. */
static void
verify_first(const Options *options)
{
	Options		verify = {.verify = options->restore,.jobs = options->jobs,
	.progress = options->progress,.no_progress = options->no_progress};

	if (verify_archive(&verify) != 0)
		exit(1);
}

int
restore_database(const Options *options, const char *argv0)
{
	Restore    *restore = new_restore(options);
	char	   *program = stock_pg_restore_find_own(options, argv0);
	Report	   *page;

	if (options->by_stock)
		leave_to_stock(program, options, options->by_stock);
	if (options->verify_first)
		verify_first(options);
	progress_begin(options->progress, options->no_progress);
	/* first, so that its last event comes when all that failed is undone */
	run_event_begin(options);
	interrupt_install_leader();
	restore->stages.setup.program = program;
	load_account_begin(&restore->account, &restore->run);
	make_plan(restore);
	page = report_begin(options->report, options->restore);
	/* errors are counted by what it says, in its own language */
	setenv("LC_ALL", "C", 1);
	open_target(restore);
	/* up to here nothing has been made */
	if (options->check)
	{
		end_check(restore);
		return 0;
	}
	prepare_target(restore);
	restore_rows_and_indexes(restore);
	/* foreign keys and triggers only now: they are not for these rows */
	complete_target(restore);
	if (options->compare_with)
		compare(restore);
	load_account_stage(&restore->account, LOAD_STAGE_END);
	return end_restore(restore, page);
}

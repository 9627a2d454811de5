/*
 * copy.c
 *		The main path of a direct copy: plan, definitions, rows, the rest.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "base/findings.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "base/shared_memory.h"
#include "base/units.h"
#include "compare/compare.h"
#include "copy/copy.h"
#include "copy/copy_page.h"
#include "copy/copy_report.h"
#include "copy/copy_worker.h"
#include "progress/progress.h"
#include "replication/subscription.h"
#include "replication/subscription_check.h"
#include "report/report.h"
#include "source/leader.h"
#include "source/source_check.h"
#include "status/progress_rows.h"
#include "status/run_event.h"
#include "stock/stock_pg_dump.h"
#include "target/analyze.h"
#include "target/index_builder.h"
#include "target/restore_schedule.h"
#include "target/restore_stage.h"
#include "target/target.h"
#include "target/target_check.h"

/* One run; an argument of the pool's callbacks, in leader and workers. */
typedef struct CopyRun
{
	CopyContext context;
	PGconn	   *source;			/* the leader's sessions */
	PGconn	   *target;
	CopyWorker *worker;			/* in a worker: itself */
	const char *new_name;		/* of the database to create, or NULL */
	RestoreStages restore;
	ProgressBeside beside;		/* indexes, while rows are copied */
	PgRestoreSetup index_setup; /* of pg_restore while rows are copied */
	CopyReport	report;
	Subscription *subscription; /* NULL if none is to be made */
} CopyRun;

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
start_worker(void *arg, int no)
{
	CopyRun    *run = arg;

	/* the leader's session is the leader's alone, and ends with it */
	close(PQsocket(run->target));
	run->worker = copy_worker_start(&run->context, no);
}

static bool
run_job(void *arg, int job, volatile int *step)
{
	CopyRun    *run = arg;

	return copy_worker_run(run->worker, job, step);
}

static void
do_job_here(void *arg, int job)
{
	CopyRun    *run = arg;
	CopyWorker *worker = copy_worker_borrow(&run->context);
	int			step;

	(void) copy_worker_run(worker, job, &step);
	copy_worker_stop(worker);
}

static void
stop_worker(void *arg)
{
	CopyRun    *run = arg;

	copy_worker_stop(run->worker);
}

static char *
describe_job(void *arg, int job, int step)
{
	CopyRun    *run = arg;
	const DumpContext *source = &run->context.source;

	return job_describe(source->queue, &source->queue->jobs[job], step,
						source->tables, source->objects);
}

/* A worker is lost: what it was doing, its transaction's end has undone. */
static void
reset_job(void *arg, int job)
{
	CopyRun    *run = arg;

	run->context.source.n_retries++;
	run_event_retry(&run->context.source, job);
}

static bool
run_refused(void *arg, int job)
{
	CopyRun    *run = arg;

	if (leader_run_refused(&run->context.source, do_job_here, run, job))
		return true;
	reset_job(run, job);
	return false;
}

static void
run_workers(CopyRun *run)
{
	DumpContext *source = &run->context.source;
	WorkerTask	task = {
		.arg = run,
		.doing = "copying",
		.max_retries = (int) source->options->retries,
		.outlives_kill = true,
		.start = start_worker,
		.run = run_job,
		.run_refused = run_refused,
		.stop = stop_worker,
		.describe = describe_job,
		.reset = reset_job,
	};

	source->keep_snapshot = source->options->compare;
	run->source = leader_run_workers(source, run->source, &task);
}

/* ----------
 * The target
 * ----------
 */

/* Make the database, and go there. */
static void
create_database(CopyRun *run, const char *name)
{
	restore_stage_database(&run->restore);
	PQfinish(run->target);
	run->context.target = target_address(run->context.target, name);
	run->target = connection_open_peer(run->context.target, "pg_pardump");
	run->restore.setup.address = target_restore_address(run->target,
														run->context.target,
														"off");
}

/*
 * The leader's session on the target has nothing to do while others work, for
 * hours maybe: whatever has become of it meanwhile is of no matter.
 */
static void
renew_target(CopyRun *run)
{
	const DumpContext *source = &run->context.source;

	PQfinish(run->target);
	run->target = connection_open_peer(run->context.target, "pg_pardump");
	target_set_up(run->target, source->options, source->encoding);
	target_expect_history(run->target, run->context.history);
}

/* incarnation: the target's of before */
static bool
was_restarted(PGconn *target, const char *incarnation)
{
	char	   *now = target_incarnation(target);
	bool		result = strcmp(now, incarnation) != 0;

	free(now);
	return result;
}

/*
 * Commits of pg_restore did not wait for the disk; this one does, and with it
 * all before it.
 */
static void
make_durable(PGconn *target)
{
	PQclear(session_query(target,
						  "SELECT pg_catalog.pg_logical_emit_message(true, 'pg_pardump', 'copied')"));
}

/* What comes before the rows. */
static void
make_definitions(CopyRun *run)
{
	restore_stage_definitions(&run->restore);
	renew_target(run);
	make_durable(run->target);
	/* pg_restore, which had ended by then, did not see it */
	if (was_restarted(run->target, run->context.incarnation))
		pg_fatal("the target was restarted, and may have lost what pg_restore had just made");
}

/* What comes after the rows; false if something of it is missing. */
static bool
make_rest(CopyRun *run)
{
	char	   *before;
	bool		ok;

	renew_target(run);
	before = target_incarnation(run->target);
	ok = restore_stage_rest(&run->restore);
	renew_target(run);
	make_durable(run->target);
	if (ok && was_restarted(run->target, before))
	{
		pg_log_error("the target was restarted, and may have lost what pg_restore had just made");
		ok = false;
	}
	free(before);
	return ok;
}

/* A server that recovers from a crash empties its unlogged tables. */
static void
check_unlogged(CopyRun *run)
{
	char	   *unlogged = target_unlogged(run->target,
										   run->context.source.tables);

	if (unlogged && was_restarted(run->target, run->context.incarnation))
	{
		pg_log_error("the target was restarted, or its statistics were reset: its unlogged tables may have lost rows that were committed before");
		pg_log_error_detail("These are: %s.", printable(unlogged));
		pg_log_error_hint("Truncate them, copy them with --data-only, and run ANALYZE.");
		exit(1);
	}
	free(unlogged);
}

/* ----------
 * The main path
 * ----------
 */

/*
 * The name of the database to create, by its entry; NULL if it is not asked
 * for.
 */
static const char *
database_to_create(const Options *options, const Toc *toc)
{
	if (!options->create)
		return NULL;
	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is(&toc->entries[i], "DATABASE"))
			return toc->entries[i].tag;
	pg_fatal("pg_dump describes no database to create");
}

/*
 * That the source has our extension must not keep a target from being copied
 * to that cannot have it, or has it already; its schema is no part of it to
 * pg_dump.  Only a superuser can make it.
 */
static void
leave_out_extension(CopyRun *run)
{
	RestoreSchedule *schedule = run->restore.schedule;
	const char *params[] = {run->context.source.options->role};
	PGresult   *res = session_query_params(run->target,
										   "SELECT a.installed_version IS NOT NULL"
										   " FROM pg_catalog.pg_available_extensions a"
										   " WHERE a.name OPERATOR(pg_catalog.=) 'pg_pardump'::pg_catalog.name"
										   " AND (a.installed_version IS NOT NULL"
										   " OR EXISTS (SELECT FROM pg_catalog.pg_roles r"
										   " WHERE r.rolname OPERATOR(pg_catalog.=) COALESCE($1::pg_catalog.name, session_user)"
										   " AND r.rolsuper))",
										   1, params, 0);

	if (PQntuples(res) == 0)
	{
		restore_schedule_leave_out(schedule, "pg_pardump");
		if (!restore_schedule_needs_schema(schedule, PARDUMP_SCHEMA))
			restore_schedule_leave_out_schema(schedule, PARDUMP_SCHEMA);
	}
	else if (PQgetvalue(res, 0, 0)[0] == 't')
		restore_schedule_leave_out_schema(schedule, PARDUMP_SCHEMA);
	PQclear(res);
}

/* Connect to the target, and look at it before anything is made there. */
static void
open_target(CopyRun *run, const Toc *toc)
{
	const DumpContext *source = &run->context.source;
	const Options *options = source->options;

	run->new_name = database_to_create(options, toc);
	run->target = target_open(options, run->source, toc->pg_dump_version,
							  run->new_name);
	run->context.target = peer_address_new(run->target, true);
	leave_out_extension(run);
	target_check(run->target, run->restore.schedule, options,
				 source->queue->n_jobs, source->encoding, run->new_name);
	if (run->new_name == NULL)
		target_check_tables(run->target, source->tables, options->clean);
	findings_settle();
}

/*
 * Make the database, if that is asked for, and the session fit for the rows.
 */
static void
prepare_target(CopyRun *run)
{
	const DumpContext *source = &run->context.source;
	const Options *options = source->options;

	run->restore.setup.address = target_restore_address(run->target,
														run->context.target, "off");
	if (run->new_name)
		create_database(run, run->new_name);
	target_set_up(run->target, options, source->encoding);
	run->context.incarnation = target_incarnation(run->target);
	run->context.history = target_history(run->target);
	/* its template may have brought some */
	if (run->new_name)
		target_check_tables(run->target, source->tables, false);
	findings_settle();
	if (options->create_subscription)
		run->subscription = subscription_try(run->source, run->context.target,
											 source->slot, options);
	/* signals cancel what the leader waits for on the source */
	interrupt_set_connection(run->source);
}

/* What every worker is to do, and how. */
static void
plan_work(CopyRun *run, const Toc *toc)
{
	DumpContext *source = &run->context.source;
	ChunkPlan  *plan;

	plan = chunk_plan_make(run->source, source->options, source->tables,
						   source->extension);
	source->plan = plan;
	source->objects = large_objects_read(run->source, toc);
	source->queue = job_queue_make(plan, source->objects);
	source->results = file_results_new(plan->n_files,
									   source->objects->n_objects, 0,
									   source->options->jobs,
									   CHECKSUM_TYPE_NONE);
	run->context.commits = shared_memory_new(source->queue->n_jobs,
											 sizeof(CopyCommit));
}

static IndexBuilder *
start_index_builder(CopyRun *run)
{
	IndexPlan	plan = {
		.schedule = run->restore.schedule,
		.tables = run->context.source.tables,
		.setup = &run->index_setup,
		.target = run->context.target,
		.is_loaded = copy_worker_has_loaded,
		.arg = &run->context,
	};

	return index_builder_start(&plan);
}

static void
copy_rows_and_indexes(CopyRun *run)
{
	CopyReport *report = &run->report;

	run->context.formats = copy_formats_decide(run->source, run->target,
											   run->restore.setup.options,
											   run->context.source.tables,
											   run->context.source.plan);
	run_event_run(&run->context.source, PQdb(run->source),
				  run->context.target);
	/* if the target crashes, workers go on, and nothing built may be lost */
	run->index_setup = run->restore.setup;
	run->index_setup.address = target_restore_address(run->target,
													  run->context.target,
													  "local");
	copy_report_stage(report, COPY_STAGE_ROWS);
	report->builder = start_index_builder(run);
	run->beside.what = "indexes ";
	run->beside.done = index_builder_counter(report->builder);
	run->beside.total = index_builder_entries(report->builder);
	run->context.source.beside = &run->beside;
	run_workers(run);

	interrupt_set_connection(NULL);
	if (!run->restore.setup.options->compare)
		PQfinish(run->source);	/* snapshot and locks are of no more use */
	copy_report_stage(report, COPY_STAGE_INDEXES);
	if (!index_builder_finish(report->builder))
		report->incomplete = true;
}

static void
analyze(CopyRun *run)
{
	AnalyzePlan plan = {
		.options = run->context.source.options,
		.encoding = run->context.source.encoding,
		.target = run->context.target,
		.tables = run->context.source.tables,
		.toc = run->restore.schedule->toc,
	};

	analyze_target(&plan, run->target);
}

/* --compare */
static void
compare(CopyRun *run)
{
	int			n_different;

	copy_report_stage(&run->report, COPY_STAGE_COMPARE);
	renew_target(run);
	run->context.source.keep_snapshot = false;
	n_different = compare_contents(&run->context, run->source, run->target,
								   run->restore.schedule->toc);
	PQfinish(leader_session_conn(run->context.source.leader));
	if (n_different > 0)
		pg_fatal("source and target differ in %d place%s", n_different,
				 units_plural(n_different));
}

/* --check has seen it all. */
static void
end_check(CopyRun *run)
{
	interrupt_set_connection(NULL);
	PQfinish(run->source);
	PQfinish(run->target);
	findings_end();
}

void
copy_database(const Options *options, const char *argv0)
{
	/* exit callbacks and workers use it until the process ends */
	CopyRun    *run = pg_malloc0(sizeof(CopyRun));
	StockPgDump *pg_dump;
	Report	   *page;
	Toc		   *toc;

	run->context.source.options = run->restore.setup.options = options;
	progress_begin(options);
	run_event_begin(options);
	pg_dump = stock_pg_dump_find(options, argv0);
	run->restore.setup.program = stock_pg_restore_find(stock_pg_dump_path(pg_dump));
	run->source = leader_open(&run->context.source);
	page = report_begin(options->report, NULL);
	copy_report_begin(&run->report, &run->context);

	toc = leader_read_plan(&run->context.source, run->source, pg_dump);
	if (options->create_subscription)
		subscription_check(run->source, options, toc,
						   run->context.source.tables);
	run->restore.setup.toc = toc;
	run->restore.schedule = restore_schedule_make(toc, run->context.source.tables,
												  options->create);
	plan_work(run, toc);
	source_check(run->source, &run->context.source);
	open_target(run, toc);
	if (options->check)
	{
		end_check(run);
		return;
	}
	restore_stage_begin(&run->restore);
	prepare_target(run);

	copy_report_stage(&run->report, COPY_STAGE_DEFINITIONS);
	make_definitions(run);
	copy_rows_and_indexes(run);

	copy_report_stage(&run->report, COPY_STAGE_REST);
	if (!make_rest(run))
		run->report.incomplete = true;
	copy_report_stage(&run->report, COPY_STAGE_ANALYZE);
	check_unlogged(run);
	if (!options->no_analyze && !options->statistics)
		analyze(run);
	if (options->compare)
		compare(run);

	copy_report_stage(&run->report, COPY_STAGE_END);
	if (run->report.incomplete)
		exit(1);
	subscription_go_on(run->subscription, run->context.source.slot);
	copy_report_print(&run->report);
	interrupt_set_connection(NULL);
	PQfinish(run->target);
	cleanup_forget_all();
	restore_stage_end(&run->restore);
	copy_page_end(page, &run->report, toc);
}

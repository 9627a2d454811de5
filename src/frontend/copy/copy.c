/*
 * copy.c
 *		The main path of a direct copy: plan, definitions, rows, the rest.
 */
#include "base/fe_compat.h"

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
#include "status/run.h"
#include "status/run_event.h"
#include "stock/stock_pg_dump.h"
#include "target/analyze.h"
#include "target/index_builder.h"
#include "target/restore_schedule.h"
#include "target/restore_stage.h"
#include "target/target.h"
#include "target/target_check.h"

/* One copy; exit callbacks, and the pool's in leader and workers, use it. */
typedef struct Copy
{
	DumpPlan	plan;
	Source		source;
	Target		target;
	Run			run;
	CopyWork	work;
	CopyWorker *worker;			/* in a worker: itself */
	const char *new_name;		/* of the database to create, or NULL */
	RestoreStages restore;
	PgRestoreSetup index_setup; /* of pg_restore while rows are copied */
	CopyReport	report;
	Subscription *subscription; /* NULL if none is to be made */
} Copy;

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
start_worker(void *arg, int no)
{
	Copy	   *copy = arg;

	copy->worker = copy_worker_start(&copy->work, no);
}

static bool
run_job(void *arg, int job, volatile int *step)
{
	Copy	   *copy = arg;

	return copy_worker_run(copy->worker, job, step);
}

static void
stop_worker(void *arg)
{
	Copy	   *copy = arg;

	copy_worker_stop(copy->worker);
}

static char *
describe_job(void *arg, int job, int step)
{
	Copy	   *copy = arg;

	return dump_plan_describe_job(&copy->plan, job, step);
}

/* A worker is lost: what it was doing, its transaction's end has undone. */
static void
reset_job(void *arg, int job)
{
	Copy	   *copy = arg;

	copy->run.n_retries++;
	run_event_retry(&copy->plan, job);
}

static void
run_workers(Copy *copy)
{
	WorkerTask	task = {
		.arg = copy,
		.doing = "copying",
		.max_retries = (int) copy->run.options->retries,
		.outlives_kill = true,
		.start = start_worker,
		.run = run_job,
		.stop = stop_worker,
		.describe = describe_job,
		.reset = reset_job,
	};

	copy->source.keep_snapshot = copy->run.options->compare;
	leader_run_workers(&copy->source, &copy->run, &task);
}

/* ----------
 * The target
 * ----------
 */

/* Make the database, and go there. */
static void
create_database(Copy *copy, const char *name)
{
	restore_stage_database(&copy->restore);
	PQfinish(copy->target.conn);
	copy->target.address = target_address(copy->target.address, name);
	copy->target.conn = connection_open_peer(copy->target.address, "pg_pardump");
	copy->restore.setup.address = target_restore_address(copy->target.conn,
														 copy->target.address,
														 "off");
}

/*
 * The leader's session on the target has nothing to do while others work, for
 * hours maybe: whatever has become of it meanwhile is of no matter.
 */
static void
renew_target(Copy *copy)
{
	PQfinish(copy->target.conn);
	copy->target.conn = connection_open_peer(copy->target.address, "pg_pardump");
	target_set_up(copy->target.conn, copy->run.options, copy->plan.encoding);
	target_expect_history(copy->target.conn, copy->target.history);
}

/* incarnation: the target's of before */
static bool
was_restarted(PGconn *conn, const char *incarnation)
{
	char	   *now = target_incarnation(conn);
	bool		result = strcmp(now, incarnation) != 0;

	free(now);
	return result;
}

/*
 * Commits of pg_restore did not wait for the disk; this one does, and with it
 * all before it.
 */
static void
make_durable(PGconn *conn)
{
	PQclear(session_query(conn,
						  "SELECT pg_catalog.pg_logical_emit_message(true, 'pg_pardump', 'copied')"));
}

/* What comes before the rows. */
static void
make_definitions(Copy *copy)
{
	restore_stage_definitions(&copy->restore);
	renew_target(copy);
	make_durable(copy->target.conn);
	/* pg_restore, which had ended by then, did not see it */
	if (was_restarted(copy->target.conn, copy->target.incarnation))
		pg_fatal("the target was restarted, and may have lost what pg_restore had just made");
}

/* What comes after the rows; false if something of it is missing. */
static bool
make_rest(Copy *copy)
{
	char	   *before;
	bool		ok;

	renew_target(copy);
	before = target_incarnation(copy->target.conn);
	ok = restore_stage_rest(&copy->restore);
	renew_target(copy);
	make_durable(copy->target.conn);
	if (ok && was_restarted(copy->target.conn, before))
	{
		pg_log_error("the target was restarted, and may have lost what pg_restore had just made");
		ok = false;
	}
	free(before);
	return ok;
}

/* A server that recovers from a crash empties its unlogged tables. */
static void
check_unlogged(Copy *copy)
{
	char	   *unlogged = target_unlogged(copy->target.conn,
										   copy->plan.tables);

	if (unlogged && was_restarted(copy->target.conn, copy->target.incarnation))
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
leave_out_extension(Copy *copy)
{
	RestoreSchedule *schedule = copy->restore.schedule;
	const char *params[] = {copy->run.options->role};
	PGresult   *res = session_query_params(copy->target.conn,
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
open_target(Copy *copy)
{
	const Options *options = copy->run.options;
	const Toc  *toc = copy->plan.toc;

	copy->new_name = database_to_create(options, toc);
	copy->target.conn = target_open(options, copy->source.conn, toc->pg_dump_version,
									copy->new_name);
	copy->target.address = peer_address_new(copy->target.conn, true);
	leave_out_extension(copy);
	target_check(copy->target.conn, copy->restore.schedule, options,
				 copy->plan.queue->n_jobs, copy->plan.encoding, copy->new_name);
	if (copy->new_name == NULL)
		target_check_tables(copy->target.conn, copy->plan.tables, options->clean);
	findings_settle();
}

/*
 * Make the database, if that is asked for, and the session fit for the rows.
 */
static void
prepare_target(Copy *copy)
{
	const Options *options = copy->run.options;

	copy->restore.setup.address = target_restore_address(copy->target.conn,
														 copy->target.address, "off");
	if (copy->new_name)
		create_database(copy, copy->new_name);
	target_set_up(copy->target.conn, options, copy->plan.encoding);
	copy->target.incarnation = target_incarnation(copy->target.conn);
	copy->target.history = target_history(copy->target.conn);
	/* its template may have brought some */
	if (copy->new_name)
		target_check_tables(copy->target.conn, copy->plan.tables, false);
	findings_settle();
	if (options->create_subscription)
		copy->subscription = subscription_try(copy->source.conn, copy->target.address,
											  copy->source.slot, options);
	/* signals cancel what the leader waits for on the source */
	interrupt_set_connection(copy->source.conn);
}

/* What workers and leader share, in memory and otherwise. */
static void
share_work(Copy *copy)
{
	CopyWork   *work = &copy->work;
	const DumpPlan *plan = &copy->plan;

	copy->run.results = file_results_new(plan->chunks->n_files,
										 plan->objects->n_objects, 0,
										 copy->run.options->jobs,
										 CHECKSUM_TYPE_NONE);
	work->source = &copy->source;
	work->target = &copy->target;
	work->run = &copy->run;
	work->commits = shared_memory_new(plan->queue->n_jobs, sizeof(CopyCommit));
}

static IndexBuilder *
start_index_builder(Copy *copy)
{
	IndexPlan	plan = {
		.schedule = copy->restore.schedule,
		.tables = copy->plan.tables,
		.setup = &copy->index_setup,
		.target = copy->target.address,
		.is_loaded = run_table_is_done,
		.arg = &copy->run,
	};

	return index_builder_start(&plan);
}

static void
copy_rows_and_indexes(Copy *copy)
{
	CopyReport *report = &copy->report;
	const Options *options = copy->run.options;
	const DumpPlan *plan = &copy->plan;

	/* the target has the tables now, and can be asked for their types */
	copy->work.formats = copy_formats_decide(copy->source.conn,
											 copy->target.conn, options, plan);
	run_event_run(options, plan, copy->target.address);
	/* if the target crashes, workers go on, and nothing built may be lost */
	copy->index_setup = copy->restore.setup;
	copy->index_setup.address = target_restore_address(copy->target.conn,
													   copy->target.address,
													   "local");
	copy_report_stage(report, COPY_STAGE_ROWS);
	report->builder = start_index_builder(copy);
	copy->run.beside.what = "indexes ";
	copy->run.beside.done = index_builder_counter(report->builder);
	copy->run.beside.total = index_builder_entries(report->builder);
	run_workers(copy);

	/* at once: the snapshot holds up vacuum, and the rest may take hours */
	interrupt_set_connection(NULL);
	if (!options->compare)
		leader_close(&copy->source);
	copy_report_stage(report, COPY_STAGE_INDEXES);
	if (!index_builder_finish(report->builder))
		report->incomplete = true;
}

static void
analyze(Copy *copy)
{
	AnalyzePlan plan = {
		.options = copy->run.options,
		.encoding = copy->plan.encoding,
		.target = copy->target.address,
		.tables = copy->plan.tables,
		.toc = copy->plan.toc,
	};

	analyze_target(&plan, copy->target.conn);
}

/* --compare */
static void
compare(Copy *copy)
{
	int			n_different;

	copy_report_stage(&copy->report, COPY_STAGE_COMPARE);
	renew_target(copy);
	copy->source.keep_snapshot = false;
	n_different = compare_contents(&copy->source, &copy->target, &copy->run);
	leader_close(&copy->source);
	if (n_different > 0)
		pg_fatal("source and target differ in %d place%s", n_different,
				 units_plural(n_different));
}

/* --check has seen it all. */
static void
end_check(Copy *copy)
{
	leader_close(&copy->source);
	PQfinish(copy->target.conn);
	findings_end();
}

/* What is to be made on the target, and when; and how rows get there. */
static void
make_plan(Copy *copy, StockPgDump *pg_dump)
{
	const Options *options = copy->run.options;

	leader_plan(&copy->source, pg_dump, &copy->plan);
	copy->restore.setup.toc = copy->plan.toc;
	copy->restore.schedule = restore_schedule_make(copy->plan.toc,
												   copy->plan.tables,
												   options->create);
	share_work(copy);
	source_check(copy->source.conn, options, &copy->plan);
}

static void
complete_target(Copy *copy)
{
	const Options *options = copy->run.options;

	copy_report_stage(&copy->report, COPY_STAGE_REST);
	if (!make_rest(copy))
		copy->report.incomplete = true;
	copy_report_stage(&copy->report, COPY_STAGE_ANALYZE);
	/* after all that may take long: what the target lost is lost by now */
	check_unlogged(copy);
	/* --statistics brings the source's own */
	if (!options->no_analyze && !options->statistics)
		analyze(copy);
}

/* Everything is on the target. */
static void
end_copy(Copy *copy, Report *page)
{
	subscription_go_on(copy->subscription, copy->source.slot);
	copy_report_print(&copy->report);
	interrupt_set_connection(NULL);
	PQfinish(copy->target.conn);
	/* not before: until now a failure was to be accounted for, and undone */
	cleanup_forget_all();
	restore_stage_end(&copy->restore);
	/* last: should it fail, all else is done and told */
	copy_page_end(page, &copy->report, copy->target.address);
}

void
copy_database(const Options *options, const char *argv0)
{
	/* exit callbacks and workers use it until the process ends */
	Copy	   *copy = pg_malloc0(sizeof(Copy));
	StockPgDump *pg_dump;
	Report	   *page;

	copy->run.options = copy->source.options = options;
	copy->restore.setup.options = options;
	copy->run.plan = &copy->plan;
	progress_begin(options);
	/* first, so that its last event comes when all that failed is undone */
	run_event_begin(options);
	pg_dump = stock_pg_dump_find(options, argv0);
	copy->restore.setup.program =
		stock_pg_restore_find(stock_pg_dump_path(pg_dump));
	leader_open(&copy->source, &copy->plan);
	page = report_begin(options->report, NULL);
	copy_report_begin(&copy->report, &copy->run);

	make_plan(copy, pg_dump);
	/* after the plan, which says what the target must have, and must not */
	open_target(copy);
	/* neither server has been changed so far */
	if (options->check)
	{
		end_check(copy);
		return;
	}

	restore_stage_begin(&copy->restore);
	prepare_target(copy);
	copy_report_stage(&copy->report, COPY_STAGE_DEFINITIONS);
	make_definitions(copy);
	copy_rows_and_indexes(copy);
	/* foreign keys and triggers only now: they are not for a copy's rows */
	complete_target(copy);
	/* before a subscription brings changes, and the two are different */
	if (options->compare)
		compare(copy);

	copy_report_stage(&copy->report, COPY_STAGE_END);
	/* nor is a subscription to go on from what is not complete */
	if (copy->report.incomplete)
		exit(1);
	end_copy(copy, page);
}

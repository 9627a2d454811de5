/*
 * restore.c
 *		The main path of a restore: plan, definitions, rows, the rest.
 */
#include "base/fe_compat.h"

#include "archive/toc.h"
#include "base/interrupt.h"
#include "base/message.h"
#include "base/shared_memory.h"
#include "base/units.h"
#include "compare/compare.h"
#include "load/analyze.h"
#include "load/definitions.h"
#include "load/index_builder.h"
#include "load/restore_journal.h"
#include "load/restore_journal_open.h"
#include "load/target.h"
#include "load/target_check.h"
#include "process/progress.h"
#include "report/report.h"
#include "restore/restore.h"
#include "restore/restore_pool.h"
#include "restore/restore_prepare.h"
#include "restore/restore_resume.h"
#include "status/load_account.h"
#include "status/metrics.h"
#include "status/run.h"
#include "status/summary.h"
#include "verify/verify.h"

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
	toc_context_share();
	restore->n_errors = shared_memory_new(1, sizeof(int));
	restore->stages.setup.n_errors = restore->n_errors;
	return restore;
}

/* --check has seen it all. */
static void
end_check(Restore *restore)
{
	session_close(restore->target.conn);
	findings_end();
}

static void
restore_rows_and_indexes(Restore *restore)
{
	LoadAccount *account = &restore->account;
	IndexPlan	indexes = {
		.stages = &restore->stages,
		.log = restore->log,
		.tables = restore->run.plan->tables,
		.is_loaded = run_table_is_done,
		.arg = &restore->run,
	};
	IndexBuilder *builder;

	run_event_run(&restore->options, restore->run.plan,
				  restore->target.address);
	if (restore->options.resume)
		run_event_resumed(&restore->run);
	load_account_stage(account, LOAD_STAGE_ROWS);
	builder = index_builder_start(&indexes);
	load_account_indexes(account, &restore->run, index_builder_builds(builder));
	restore_pool_run(&restore->work, &restore->run);
	load_account_stage(account, LOAD_STAGE_INDEXES);
	/* what can be resumed is not passed over */
	if (!index_builder_finish(builder))
		exit(1);
	restore_state_renew(restore);
	restore_unlogged_check(&restore->work, restore->target.conn, false);
	if (!restore_journal_is_done(restore->log, RESTORE_LOG_ROWS))
		restore_state_note_done(restore, RESTORE_LOG_ROWS);
}

static void
complete_target(Restore *restore)
{
	const Options *options = &restore->options;
	const DumpPlan *plan = restore->run.plan;

	load_account_stage(&restore->account, LOAD_STAGE_REST);
	if (!restore_state_is_done(restore, RESTORE_LOG_REST))
	{
		definitions_make_rest(&restore->stages, restore->log);
		restore_state_note_done(restore, RESTORE_LOG_REST);
	}
	load_account_stage(&restore->account, LOAD_STAGE_ANALYZE);
	if (!options->no_analyze)
		analyze_target(&restore->target, plan->tables, plan->toc);
	restore_state_renew(restore);
	/* after all that may take long: what the target lost is lost by now */
	if (!restore->log->is_kept)
		target_history_check_unlogged(restore->target.conn, plan->tables,
									  restore->target.incarnation);
	definitions_make_event_triggers(&restore->stages, restore->log);
	restore->account.can_resume = false;
}

/* What pg_restore's last words are, too. */
static void
report_errors(const Restore *restore)
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
	n_different = compare_restore(&restore->run, &restore->target);
	if (n_different == 0)
		return;
	report_errors(restore);
	pg_fatal("source and target differ in %d place%s", n_different,
			 units_plural(n_different));
}

/* All that can be is on the target.  Returns the exit status. */
static int
end_restore(Restore *restore, Report *page)
{
	if (progress_is_shown())
		load_account_print(&restore->account, stderr);
	summary_report(&restore->run, false);
	interrupt_set_connection(NULL);
	session_close(restore->target.conn);
	/* not before: until now a failure was to be accounted for, and undone */
	cleanup_forget_all();
	restore_stage_end(&restore->stages);
	report_errors(restore);
	metrics_end(*restore->n_errors == 0);
	/* last: should it fail, all else is done and told */
	load_page_end(page, &restore->account, *restore->n_errors,
				  restore->target.address);
	return *restore->n_errors > 0 ? 1 : 0;
}

/* --verify: a damaged archive is not restored. */
static void
verify_first(const Options *options, const Run *run)
{
	Options		verify = {.verify = options->restore,.jobs = options->jobs,
	.progress = options->progress,.no_progress = options->no_progress};

	run_metrics_begin(options, run);
	/* its end has emptied the exit stack, so that they are begun again */
	if (verify_archive(&verify) == 0)
		return;
	metrics_end(false);
	exit(1);
}

int
restore_database(const Options *options, const char *argv0)
{
	Restore    *restore = new_restore(options);
	char	   *program = stock_pg_restore_find_own(options, argv0);
	Report	   *page;

	if (options->by_stock)
		restore_plan_leave_to_stock(program, options, options->by_stock);
	if (options->verify_first)
		verify_first(options, &restore->run);
	progress_begin(options->progress, options->no_progress);
	/* first, so that their last words come when all that failed is undone */
	run_metrics_begin(options, &restore->run);
	run_event_begin(options);
	interrupt_install_leader();
	restore->stages.setup.program = program;
	load_account_begin(&restore->account, &restore->run);
	restore_plan_make(restore);
	page = report_begin(options->report, options->restore);
	restore_prepare_open(restore);
	/* up to here nothing has been made */
	if (options->check)
	{
		end_check(restore);
		return 0;
	}
	restore_prepare_target(restore);
	restore_rows_and_indexes(restore);
	/* foreign keys and triggers only now: they are not for these rows */
	complete_target(restore);
	if (options->compare_with)
		compare(restore);
	load_account_stage(&restore->account, LOAD_STAGE_END);
	return end_restore(restore, page);
}

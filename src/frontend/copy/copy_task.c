/*
 * copy_task.c
 *		One task of a copy by many hosts.
 *
 * Its workers copy as the leader's would, and each writes its job's line in
 * the log on the target in the transaction that loads.  So what another
 * attempt has done, or is doing, is not done again.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "copy/copy_task.h"
#include "copy/copy_task_plan.h"
#include "copy/copy_worker.h"
#include "dump_tasks/read_task.h"
#include "session/session_loss.h"
#include "target/target_history.h"
#include "tasks/task_address.h"
#include "tasks/task_run.h"
#include "tasks/task_server.h"

typedef struct CopyTask
{
	ReadTask	base;			/* first: its callbacks have it */
	const CopyTaskPlan *plan;
	Target		target;			/* without a session of this process's */
	JobLog		log;
	CopyWork	work;
	CopyWorker *worker;			/* in a worker: itself */
} CopyTask;

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
start_worker(void *arg, int no)
{
	CopyTask   *task = arg;

	task->worker = copy_worker_start(&task->work, no);
}

static bool
run_job(void *arg, int no, volatile int *step)
{
	CopyTask   *task = arg;

	return copy_worker_run(task->worker, task->base.jobs[no], step);
}

static void
stop_worker(void *arg)
{
	CopyTask   *task = arg;

	copy_worker_stop(task->worker);
}

/* ----------
 * Steps
 * ----------
 */

/* What loading needs of the leader's options, and what it has found. */
static void
settle_target(CopyTask *task)
{
	const CopyTaskTarget *planned = &task->plan->target;
	Options    *options = &task->base.options;
	ConnParams	here = {.dbname = options->target};
	Target	   *target = &task->target;

	options->data_only = planned->data_only;
	options->disable_triggers = planned->disable_triggers;
	options->toast_compression = planned->toast_compression;
	target->options = options;
	target->encoding = task->base.run.plan->encoding;
	target->address = task_address(planned->conninfo, &here, TASK_TARGET_OPTION,
								   options->target_password_command);
	target->history = planned->history;
	target->fast_copy = planned->fast_copy;
	task->log.target = target;
	task->log.is_kept = task->log.is_shared = true;
	task->log.attempt = planned->attempt;
}

/* Is it the leader's, and has no other run taken over there? */
static void
check_target(void *arg)
{
	CopyTask   *task = arg;
	PGconn	   *conn = target_connect(&task->target);

	task_server_check(conn, &task->plan->target.server, TASK_TARGET_OPTION);
	(void) target_history_expect(conn, task->target.history);
	job_log_check_attempt(&task->log, conn);
	interrupt_set_connection(NULL);
	session_close(conn);
}

/* Without a target a later attempt may have more luck. */
static void
begin_target(CopyTask *task)
{
	char	   *cause;

	settle_target(task);
	cause = session_try(check_target, task);
	if (cause)
		task_run_give_up(cause);
}

static void
prepare_work(CopyTask *task)
{
	CopyWork   *work = &task->work;

	work->source = &task->base.source;
	work->target = &task->target;
	work->run = &task->base.run;
	work->formats = &task->plan->formats;
	work->commits = shared_memory_new(task->base.run.plan->queue->n_jobs,
									  sizeof(TargetCommit));
	work->log = &task->log;
}

void
copy_task(const Options *options)
{
	CopyTask   *task = pg_malloc0(sizeof(CopyTask));
	WorkerTask	pool_task = {
		.doing = "copying",
		.outlives_kill = true,
		.start = start_worker,
		.run = run_job,
		.stop = stop_worker,
		.reset = worker_pool_no_reset,
	};

	task->plan = copy_task_plan_read(options->plan);
	read_task_begin(&task->base, task->plan->read, options);
	begin_target(task);
	prepare_work(task);
	read_task_begin_attempt(&task->base);
	read_task_run(&task->base, &pool_task);
	task_result_end(&task->base.results);
	task_servers_close(task->base.servers);
}

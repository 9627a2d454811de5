/*
 * read_task.c
 *		What a task of a dump and one of a copy have in common: it reads.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "dump_tasks/read_task.h"
#include "process/worker_process.h"
#include "session/traffic.h"
#include "tasks/task_run.h"
#include "tasks/task_server.h"

/* ----------
 * Before
 * ----------
 */

/* What the leader was told, and this host's -j, -r and way to the server. */
static void
settle_options(ReadTask *task, const Options *options)
{
	const DumpTaskHead *head = &task->task_plan->head;

	task->options = *options;
	task->options.extra_float_digits = head->extra_float_digits;
	task->options.quote_all_identifiers = head->quote_all_identifiers;
	task->options.pipe_command = head->pipe_command;
	task->options.incremental_copy_method = head->copy_method;
	task_run_settle(&head->run, &task->options, &task->task, &task->n_tasks);
}

static void
choose_jobs(ReadTask *task)
{
	const JobQueue *queue = task->run.plan->queue;
	int			n = 0;

	for (int i = 0; i < queue->n_jobs; i++)
		if (queue->jobs[i].task == task->task)
			task->n_jobs++;
	task->jobs = pg_malloc((task->n_jobs + 1) * sizeof(int));
	for (int i = 0; i < queue->n_jobs; i++)
		if (queue->jobs[i].task == task->task)
			task->jobs[n++] = i;
	task->told = pg_malloc0((task->n_jobs + 1) * sizeof(bool));
}

void
read_task_begin(ReadTask *task, const DumpTaskPlan *task_plan,
				const Options *options)
{
	char	   *cause;

	task->task_plan = task_plan;
	task->run.plan = &task_plan->plan;
	task->run.options = &task->options;
	settle_options(task, options);
	choose_jobs(task);
	interrupt_install_leader();
	interrupt_set_exit_code(WORKER_EXIT_RETRY);
	task->source.options = &task->options;
	task->servers = task_servers_new(&task->options, task_plan, task->task,
									 &task->source);
	cause = task_servers_connect(task->servers,
								 Min(task->options.jobs, task->n_jobs));
	if (cause)
		task_run_give_up(cause);
	run_make_results(&task->run, task_plan->plan.checksum_type);
}

void
read_task_begin_attempt(ReadTask *task)
{
	task_result_begin(&task->results, task->options.plan, task->task,
					  task->task_plan->head.run.run_id);
}

/* ----------
 * What is told
 * ----------
 */
/*
 * In the task's first process.  Of what another attempt has done that one
 * tells.
 */
static void
job_is_done(void *arg, int no)
{
	ReadTask   *task = arg;
	const Run  *run = &task->run;
	const Job  *job;
	const FileResult *result;
	bool		any = false;

	if (task->told[no])
		return;					/* that it was refused */
	task->told[no] = true;
	job = &run->plan->queue->jobs[task->jobs[no]];
	for (int i = 0; (result = run_job_result(run, job, i)) != NULL; i++)
		if (result->done && result->start_us != 0)
		{
			task_result_tell(&task->results, run->results, job, result);
			any = true;
		}
	if (any)
		task_result_flush(&task->results);
}

/* ----------
 * While workers work
 * ----------
 */
static char *
describe_job(void *arg, int no, int step)
{
	ReadTask   *task = arg;

	return dump_plan_describe_job(task->run.plan, task->jobs[no], step);
}

static void
worker_begins(void *arg, int worker)
{
	ReadTask   *task = arg;

	snapshot_holder_begin(&task->source.holders[worker],
						  task_servers_choose(task->servers));
}

static void
worker_is_gone(void *arg, int worker)
{
	ReadTask   *task = arg;

	task->source.holders[worker].running = false;
}

static int
watch_fd(void *arg)
{
	return -1;
}

static bool
attend(void *arg, bool all_done)
{
	ReadTask   *task = arg;

	/* they are to leave now, and what is stopped would keep its session */
	if (all_done)
	{
		snapshot_holders_wake(task->source.holders, task->options.jobs);
		return true;
	}
	worker_care_look(task->care);
	task_servers_attend(task->servers);
	return true;
}

/* The leader, which has all locks, will do it in the end. */
static bool
run_refused(void *arg, const WorkerTask *pool_task, int no)
{
	ReadTask   *task = arg;
	char	   *what = describe_job(task, no, -1);
	TaskLine	line = {.kind = TASK_LINE_REFUSED,.number = task->jobs[no]};

	pg_log_warning("%s is left to the leader: its lock cannot be had here", what);
	task_result_write(&task->results, &line);
	task_result_flush(&task->results);
	task->told[no] = true;
	free(what);
	return true;
}

void
read_task_run(ReadTask *task, WorkerTask *pool_task)
{
	PoolWatch	watch = {
		.arg = task,
		.begins = worker_begins,
		.is_gone = worker_is_gone,
		.watch_fd = watch_fd,
		.attend = attend,
		.run_refused = run_refused,
	};

	pool_task->arg = task;
	pool_task->max_retries = (int) task->options.retries;
	pool_task->lost_status = WORKER_EXIT_RETRY;
	pool_task->describe = describe_job;
	pool_task->done = job_is_done;
	traffic_set_max_rate(task->options.max_rate);
	task->source.snapshot = task->run.plan->snapshot;
	task->source.holders = snapshot_holders_new(task->options.jobs);
	task->care = worker_care_new(&task->options, task->source.holders,
								 task->run.plan->lock_wait_ms, task_servers_look,
								 task->servers);
	task->care->n_servers = task_servers_count(task->servers);
	task->care->leader = task_server_leader_process(task->task_plan->head.run.run_id);
	worker_pool_run(pool_task, &watch, Min(task->options.jobs, task->n_jobs),
					task->n_jobs);
}

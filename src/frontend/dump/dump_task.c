/*
 * dump_task.c
 *		One task of a dump by many hosts.
 *
 * Jobs I, I+N, I+2N ... of the plan's queue are task I's, for a pool of this
 * host's own workers, as the leader's would do them.  What they make has
 * names of this attempt's own, and is told to the leader line by line
 * (tasks/task_result.h).
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "archive/archive_dir.h"
#include "archive/archive_name.h"
#include "base/cleanup.h"
#include "base/interrupt.h"
#include "dump/dump_task.h"
#include "dump/dump_worker.h"
#include "dump/task_servers.h"
#include "dump_tasks/dump_task_read.h"
#include "options/task_options.h"
#include "process/worker_pool.h"
#include "process/worker_process.h"
#include "session/traffic.h"
#include "source/worker_care.h"
#include "tasks/task_result.h"
#include "tasks/task_server.h"

typedef struct DumpTask
{
	Options		options;		/* as the plan and this host have them */
	const DumpTaskPlan *task_plan;
	Source		source;
	Run			run;
	Reuse	   *reuse;			/* NULL = nothing is used again */
	int			task;
	int			n_tasks;
	int		   *jobs;			/* of the queue, by the pool's number */
	bool	   *told;			/* by the pool's number */
	int			n_jobs;
	bool		all_there;		/* of the files that were looked for */
	ArchiveDir *archive;
	char	   *attempt;		/* TASK.HOST.PROCESS.RANDOM */
	char	   *results_path;
	int			results_fd;
	DumpWorker *worker;			/* in a worker: itself */
	TaskServers *servers;
	WorkerCare *care;
} DumpTask;

/* ----------
 * The files of a job
 * ----------
 */
typedef void (*FileCallback) (DumpTask *task, TaskLineKind kind, int number,
							  char *name);

static void
for_each_file(DumpTask *task, int job_no, FileCallback callback)
{
	const DumpPlan *plan = task->run.plan;
	const Job  *job = &plan->queue->jobs[job_no];
	const LargeObjectGroup *group;

	if (job->kind == JOB_DATA_FILES)
	{
		for (int i = 0; i < job->n; i++)
		{
			const DataFile *file = plan->queue->files[job->first + i];

			callback(task, TASK_LINE_FILE, (int) (file - plan->chunks->files),
					 archive_name_rows(file->dump_id, plan->compress.method));
		}
		return;
	}
	group = &plan->objects->groups[job->first];
	for (int i = 0; i < group->n_oids; i++)
		callback(task, TASK_LINE_OBJECT, group->first_object + i,
				 archive_name_large_object(group->oids[i], plan->compress.method));
}

/* In a worker. */
static void
flush_file(DumpTask *task, TaskLineKind kind, int number, char *name)
{
	archive_dir_flush_file(task->archive, name);
	free(name);
}

/* Unless it has been left out, as the archive has it. */
static void
tell_file(DumpTask *task, TaskLineKind kind, int number, char *name)
{
	const FileResults *results = task->run.results;
	TaskLine	line = {.kind = kind,.number = number};

	line.result = kind == TASK_LINE_FILE ? results->files[number] :
		results->objects[number];
	if (line.result.done)
		task_result_write(task->results_fd, task->results_path, &line);
	free(name);
}

static void
look_for_file(DumpTask *task, TaskLineKind kind, int number, char *name)
{
	char	   *path = psprintf("%s/%s", task->task_plan->head.archive, name);

	if (access(path, F_OK) != 0)
		task->all_there = false;
	free(path);
	free(name);
}

/* Has another attempt made all of it, and the leader taken it? */
static bool
is_there(DumpTask *task, int job)
{
	if (task->task_plan->head.archive == NULL)
		return false;
	task->all_there = true;
	for_each_file(task, job, look_for_file);
	return task->all_there;
}

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
start_worker(void *arg, int no)
{
	DumpTask   *task = arg;

	task->worker = dump_worker_start(&task->source, &task->run, task->reuse,
									 no);
}

static bool
run_job(void *arg, int no, volatile int *step)
{
	DumpTask   *task = arg;

	if (is_there(task, task->jobs[no]))
		return true;
	if (!dump_worker_run(task->worker, task->jobs[no], step))
		return false;
	if (!task->task_plan->head.no_sync)
		for_each_file(task, task->jobs[no], flush_file);
	return true;
}

static void
stop_worker(void *arg)
{
	DumpTask   *task = arg;

	dump_worker_stop(task->worker);
}

static char *
describe_job(void *arg, int no, int step)
{
	DumpTask   *task = arg;

	return dump_plan_describe_job(task->run.plan, task->jobs[no], step);
}

static void
reset_job(void *arg, int no)
{
	DumpTask   *task = arg;

	dump_worker_reset(&task->run, task->jobs[no]);
}

/* In the task's first process, the only one to write results. */
static void
job_is_done(void *arg, int no)
{
	DumpTask   *task = arg;

	if (task->told[no])
		return;					/* that it was refused */
	for_each_file(task, task->jobs[no], tell_file);
	task_result_flush(task->results_fd, task->results_path);
	task->told[no] = true;
}

/* ----------
 * What else goes on
 * ----------
 */
static void
worker_begins(void *arg, int worker)
{
	DumpTask   *task = arg;

	snapshot_holder_begin(&task->source.holders[worker],
						  task_servers_choose(task->servers));
}

static void
worker_is_gone(void *arg, int worker)
{
	DumpTask   *task = arg;

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
	DumpTask   *task = arg;

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
	DumpTask   *task = arg;
	TaskLine	line = {.kind = TASK_LINE_REFUSED,.number = task->jobs[no]};
	char	   *what = describe_job(task, no, -1);

	pg_log_warning("%s is left to the leader: its lock cannot be had here", what);
	task_result_write(task->results_fd, task->results_path, &line);
	task_result_flush(task->results_fd, task->results_path);
	task->told[no] = true;
	free(what);
	return true;
}

/* ----------
 * Steps
 * ----------
 */

/* What the leader was told, and this host's -j, -r and way to the server. */
static void
settle_options(DumpTask *task, const Options *options)
{
	const DumpTaskHead *head = &task->task_plan->head;

	task->options = *options;
	task->options.role = head->role;
	task->options.extra_float_digits = head->extra_float_digits;
	task->options.quote_all_identifiers = head->quote_all_identifiers;
	task->options.enable_row_security = head->enable_row_security;
	task->options.retries = head->retries;
	task->options.pipe_command = head->pipe_command;
	task->options.incremental_copy_method = head->copy_method;
	task_options_read_planned(options->task, head->run.n_tasks, &task->task,
							  &task->n_tasks);
}

/* The first session; without one a later attempt may have more luck. */
static void
connect_first(DumpTask *task)
{
	char	   *cause;

	interrupt_install_leader();
	task->source.options = &task->options;
	task->servers = task_servers_new(&task->options, task->task_plan,
									 task->task, &task->source);
	cause = task_servers_connect(task->servers, Min(task->options.jobs, task->n_jobs));
	if (cause == NULL)
		return;
	pg_log_error("%s", cause);
	exit(WORKER_EXIT_RETRY);
}

static void
begin_attempt(DumpTask *task)
{
	char	   *directory = make_absolute_path(task->options.plan);
	const char *pipe = task->task_plan->head.pipe_command;

	get_parent_directory(directory);
	task->attempt = task_result_attempt(task->task);
	task->archive = pipe ? archive_dir_create_piped(pipe) :
		archive_dir_of_attempt(directory, task->attempt);
	task->run.archive = task->archive;
	task->results_path = psprintf("%s/%s" TASK_RESULT_SUFFIX, directory,
								  task->attempt);
	task->results_fd = task_result_begin(task->results_path,
										 task->task_plan->head.run.run_id);
	free(directory);
}

/* An exit callback: what nobody was told of. */
static void
remove_files(void *arg)
{
	DumpTask   *task = arg;

	for (int i = 0; i < task->n_jobs; i++)
		if (!task->told[i])
			dump_worker_reset(&task->run, task->jobs[i]);
}

static void
choose_jobs(DumpTask *task)
{
	int			n = task->run.plan->queue->n_jobs;

	task->jobs = pg_malloc0((n + 1) * sizeof(int));
	for (int i = task->task; i < n; i += task->n_tasks)
		task->jobs[task->n_jobs++] = i;
	task->told = pg_malloc0((task->n_jobs + 1) * sizeof(bool));
}

static void
run_pool(DumpTask *task)
{
	WorkerTask	pool_task = {
		.arg = task,
		.doing = "dumping",
		.max_retries = (int) task->options.retries,
		.lost_status = WORKER_EXIT_RETRY,
		.outlives_kill = task->options.pipe_command == NULL,
		.start = start_worker,
		.run = run_job,
		.stop = stop_worker,
		.describe = describe_job,
		.reset = reset_job,
		.done = job_is_done,
	};
	PoolWatch	watch = {
		.arg = task,
		.begins = worker_begins,
		.is_gone = worker_is_gone,
		.watch_fd = watch_fd,
		.attend = attend,
		.run_refused = run_refused,
	};

	traffic_set_max_rate(task->options.max_rate);
	task->source.snapshot = task->run.plan->snapshot;
	task->source.holders = snapshot_holders_new(task->options.jobs);
	task->care = worker_care_new(&task->options, task->source.holders,
								 task->run.plan->lock_wait_ms, task_servers_look,
								 task->servers);
	task->care->n_servers = task_servers_count(task->servers);
	task->care->leader = task_server_leader_process(task->task_plan->head.run.run_id);
	worker_pool_run(&pool_task, &watch, task->options.jobs, task->n_jobs);
}

void
dump_task(const Options *options)
{
	DumpTask   *task = pg_malloc0(sizeof(DumpTask));
	DumpTaskPlan *task_plan = dump_task_read(options->plan);
	TaskLine	end = {.kind = TASK_LINE_END};

	task->task_plan = task_plan;
	task->run.plan = &task_plan->plan;
	task->run.options = &task->options;
	settle_options(task, options);
	choose_jobs(task);
	connect_first(task);
	run_make_results(&task->run, task_plan->plan.checksum_type);
	task->reuse = reuse_new(&task_plan->plan);
	begin_attempt(task);
	cleanup_push(remove_files, task);
	run_pool(task);
	task_result_write(task->results_fd, task->results_path, &end);
	task_result_flush(task->results_fd, task->results_path);
	cleanup_forget_all();
	task_servers_close(task->servers);
}

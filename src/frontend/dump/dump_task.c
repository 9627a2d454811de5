/*
 * dump_task.c
 *		One task of a dump by many hosts.
 *
 * What its workers make has names of this attempt's own, which the leader
 * changes into those of the archive when it is told of them.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "archive/archive_dir.h"
#include "base/cleanup.h"
#include "base/interrupt.h"
#include "dump/dump_task.h"
#include "dump/dump_worker.h"
#include "dump/task_help.h"
#include "dump_tasks/dump_task_read.h"
#include "dump_tasks/read_task.h"

typedef struct DumpTask
{
	ReadTask	base;			/* first: its callbacks have it */
	Reuse	   *reuse;			/* NULL = nothing is used again */
	ArchiveDir *archive;
	TaskHelp   *help;			/* NULL = each task does its own only */
	bool	   *begun;			/* by the pool's number: by a worker */
	DumpWorker *worker;			/* in a worker: itself */
} DumpTask;

/* ----------
 * The files of a job
 * ----------
 */
static void
flush_files(const DumpTask *task, const Job *job)
{
	char	   *name;

	for (int i = 0; (name = dump_worker_file_name(&task->base.run, job, i)) != NULL; i++)
	{
		archive_dir_flush_file(task->archive, name);
		free(name);
	}
}

/* Has another attempt made all of it, and the leader taken it? */
static bool
is_there(const DumpTask *task, const Job *job)
{
	const char *archive = task->base.task_plan->head.archive;
	bool		there = archive != NULL;
	char	   *name;

	for (int i = 0; there &&
		 (name = dump_worker_file_name(&task->base.run, job, i)) != NULL; i++)
	{
		char	   *path = psprintf("%s/%s", archive, name);

		there = access(path, F_OK) == 0;
		free(path);
		free(name);
	}
	return there;
}

/*
 * Only where a job that is begun is a file at once: not by --pipe, nor while
 * it is found out whether a previous archive's file can be used again.
 */
static bool
can_help(const DumpTaskPlan *plan)
{
	return plan->head.archive != NULL && plan->plan.previous == NULL;
}

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
start_worker(void *arg, int no)
{
	DumpTask   *task = arg;

	task->worker = dump_worker_start(&task->base.source, &task->base.run,
									 task->reuse, no);
}

static bool
begin_job(void *arg, int no)
{
	DumpTask   *task = arg;

	task->begun[no] = true;
	return true;
}

static bool
do_job(DumpTask *task, int job_no, volatile int *step)
{
	if (!dump_worker_run(task->worker, job_no, step))
		return false;
	flush_files(task, &task->base.run.plan->queue->jobs[job_no]);
	return true;
}

/* What is chosen already is that of a worker which was lost. */
static bool
run_job(void *arg, int no, volatile int *step)
{
	DumpTask   *task = arg;
	volatile int *job = &task->base.jobs[no];

	if (*job == NO_TASK_JOB)
		*job = task_help_choose(task->help);
	if (*job == NO_TASK_JOB ||
		is_there(task, &task->base.run.plan->queue->jobs[*job]))
		return true;
	if (no < task->base.n_own)
		return (task->help && task_help_comes(task->help, *job)) ||
			do_job(task, *job, step);
	if (do_job(task, *job, step))
		task_help_made(task->help, *job);
	else
	{
		/* its own task, or the leader, will have the lock */
		task_help_leave(task->help, *job, false);
		*job = NO_TASK_JOB;
	}
	return true;
}

static void
stop_worker(void *arg)
{
	DumpTask   *task = arg;

	dump_worker_stop(task->worker);
}

static void
reset_job(void *arg, int no)
{
	DumpTask   *task = arg;

	if (task->base.jobs[no] != NO_TASK_JOB)
		dump_worker_reset(&task->base.run, task->base.jobs[no]);
}

/* ----------
 * Steps
 * ----------
 */
static void
begin_attempt(DumpTask *task)
{
	const char *pipe = task->base.task_plan->head.pipe_command;

	read_task_begin_attempt(&task->base);
	task->archive = pipe ? archive_dir_create_piped(pipe) :
		archive_dir_of_attempt(task->base.results.directory,
							   task->base.results.attempt,
							   !task->base.task_plan->head.no_sync);
	task->base.run.archive = task->archive;
}

/* An exit callback: what workers were at. */
static void
remove_files(void *arg)
{
	DumpTask   *task = arg;

	for (int i = 0; i < task->base.n_jobs; i++)
	{
		if (!task->begun[i] || task->base.told[i])
			continue;
		reset_job(task, i);
		if (task->help && task->base.jobs[i] != NO_TASK_JOB)
			task_help_leave(task->help, task->base.jobs[i],
							!interrupt_came());
	}
}

void
dump_task(const Options *options)
{
	DumpTask   *task = pg_malloc0(sizeof(DumpTask));
	DumpTaskPlan *task_plan = dump_task_read(options->plan, TASKS_DUMP, NULL);
	WorkerTask	pool_task = {
		.doing = "dumping",
		.outlives_kill = task_plan->head.pipe_command == NULL,
		.start = start_worker,
		.begin = begin_job,
		.run = run_job,
		.stop = stop_worker,
		.reset = reset_job,
	};

	read_task_begin(&task->base, task_plan, options,
					can_help(task_plan) ? MOST_HELPED : 0);
	task->begun = pg_malloc0((task->base.n_jobs + 1) * sizeof(bool));
	task->reuse = reuse_new(&task_plan->plan);
	begin_attempt(task);
	if (can_help(task_plan))
		task->help = task_help_new(&task->base.run, task->base.task,
								   task->base.results.directory,
								   task_plan->head.archive);
	cleanup_push(remove_files, task);
	read_task_run(&task->base, &pool_task);
	task_result_end(&task->base.results);
	cleanup_forget_all();
	task_servers_close(task->base.servers);
}

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
#include "dump/dump_task.h"
#include "dump/dump_worker.h"
#include "dump_tasks/dump_task_read.h"
#include "dump_tasks/read_task.h"
#include "dump_tasks/task_help.h"

typedef struct DumpTask
{
	ReadTask	base;			/* first: its callbacks have it */
	Reuse	   *reuse;			/* NULL = nothing is used again */
	ArchiveDir *archive;
	TaskHelp   *help;			/* asked if can_help() */
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

static bool
is_begun(const DumpTask *task, const Job *job)
{
	char	   *name = dump_worker_file_name(&task->base.run, job, 0);
	bool		begun = task_help_is_begun(task->help, name);

	free(name);
	return begun;
}

/*
 * Neither this job nor, before it, as many others of its task as that is
 * doing now?
 */
static bool
seems_wanted(const DumpTask *task, int job_no)
{
	const Job  *jobs = task->base.run.plan->queue->jobs;
	int			at_work = task_help_at_work(task->help, jobs[job_no].task);
	int			left = Max(at_work, 1) + 1;

	for (int i = job_no; at_work >= 0 && left > 0 && i >= 0; i--)
		if (jobs[i].task == jobs[job_no].task)
		{
			if (is_begun(task, &jobs[i]))
				return false;
			left--;
		}
	return at_work >= 0 && left == 0;
}

static bool
is_wanted(const DumpTask *task, int job_no)
{
	task_help_look(task->help, true);
	if (!seems_wanted(task, job_no))
		return false;
	task_help_look(task->help, false);
	return seems_wanted(task, job_no);
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
run_job(void *arg, int no, volatile int *step)
{
	DumpTask   *task = arg;
	int			job_no = task->base.jobs[no];
	const Job  *job = &task->base.run.plan->queue->jobs[job_no];

	if (no < task->base.n_own ? is_there(task, job) : !is_wanted(task, job_no))
		return true;
	if (!dump_worker_run(task->worker, job_no, step))
		return false;
	flush_files(task, job);
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

/* An exit callback: what nobody was told of. */
static void
remove_files(void *arg)
{
	DumpTask   *task = arg;

	for (int i = 0; i < task->base.n_jobs; i++)
		if (!task->base.told[i])
			dump_worker_reset(&task->base.run, task->base.jobs[i]);
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
		.run = run_job,
		.stop = stop_worker,
		.reset = reset_job,
	};

	read_task_begin(&task->base, task_plan, options, can_help(task_plan));
	task->reuse = reuse_new(&task_plan->plan);
	begin_attempt(task);
	task->help = task_help_new(task->base.results.directory,
							   task_plan->head.archive);
	cleanup_push(remove_files, task);
	read_task_run(&task->base, &pool_task);
	task_result_end(&task->base.results);
	cleanup_forget_all();
	task_servers_close(task->base.servers);
}

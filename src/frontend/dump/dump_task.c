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

typedef struct DumpTask
{
	ReadTask	base;			/* first: its callbacks have it */
	Reuse	   *reuse;			/* NULL = nothing is used again */
	ArchiveDir *archive;
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
run_job(void *arg, int no, volatile int *step)
{
	DumpTask   *task = arg;
	int			job_no = task->base.jobs[no];
	const Job  *job = &task->base.run.plan->queue->jobs[job_no];

	if (is_there(task, job))
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

/* An exit callback: what workers were at. */
static void
remove_files(void *arg)
{
	DumpTask   *task = arg;

	for (int i = 0; i < task->base.n_jobs; i++)
		if (task->begun[i] && !task->base.told[i])
			reset_job(task, i);
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

	read_task_begin(&task->base, task_plan, options);
	task->begun = pg_malloc0((task->base.n_jobs + 1) * sizeof(bool));
	task->reuse = reuse_new(&task_plan->plan);
	begin_attempt(task);
	cleanup_push(remove_files, task);
	read_task_run(&task->base, &pool_task);
	task_result_end(&task->base.results);
	cleanup_forget_all();
	task_servers_close(task->base.servers);
}

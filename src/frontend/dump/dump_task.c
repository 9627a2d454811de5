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
#include "archive/archive_name.h"
#include "base/cleanup.h"
#include "dump/dump_task.h"
#include "dump/dump_worker.h"
#include "dump_tasks/dump_task_read.h"
#include "dump_tasks/read_task.h"

typedef struct DumpTask
{
	ReadTask	base;			/* first: its callbacks have it */
	Reuse	   *reuse;			/* NULL = nothing is used again */
	bool		all_there;		/* of the files that were looked for */
	ArchiveDir *archive;
	DumpWorker *worker;			/* in a worker: itself */
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
	const DumpPlan *plan = task->base.run.plan;
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
	const FileResults *results = task->base.run.results;

	if (kind == TASK_LINE_FILE ? results->files[number].done :
		results->objects[number].done)
		read_task_tell(&task->base, kind, number);
	free(name);
}

static void
look_for_file(DumpTask *task, TaskLineKind kind, int number, char *name)
{
	char	   *path = psprintf("%s/%s", task->base.task_plan->head.archive, name);

	if (access(path, F_OK) != 0)
		task->all_there = false;
	free(path);
	free(name);
}

/* Has another attempt made all of it, and the leader taken it? */
static bool
is_there(DumpTask *task, int job)
{
	if (task->base.task_plan->head.archive == NULL)
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

	task->worker = dump_worker_start(&task->base.source, &task->base.run,
									 task->reuse, no);
}

static bool
run_job(void *arg, int no, volatile int *step)
{
	DumpTask   *task = arg;
	int			job = task->base.jobs[no];

	if (is_there(task, job))
		return true;
	if (!dump_worker_run(task->worker, job, step))
		return false;
	for_each_file(task, job, flush_file);
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

/* In the task's first process. */
static void
job_is_done(void *arg, int no)
{
	DumpTask   *task = arg;

	if (task->base.told[no])
		return;					/* that it was refused */
	for_each_file(task, task->base.jobs[no], tell_file);
	task_result_flush(&task->base.results);
	task->base.told[no] = true;
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
		.done = job_is_done,
	};

	read_task_begin(&task->base, task_plan, options);
	task->reuse = reuse_new(&task_plan->plan);
	begin_attempt(task);
	cleanup_push(remove_files, task);
	read_task_run(&task->base, &pool_task);
	task_result_end(&task->base.results);
	cleanup_forget_all();
	task_servers_close(task->base.servers);
}

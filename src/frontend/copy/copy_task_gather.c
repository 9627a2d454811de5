/*
 * copy_task_gather.c
 *		Takes what attempts at tasks of a copy have told.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "copy/copy_log.h"
#include "copy/copy_task_gather.h"
#include "status/run_event.h"
#include "tasks/task_attempts.h"

struct CopyTaskGather
{
	Run		   *run;
	int			n_tasks;
	TaskAttempts *attempts;
	bool	   *refused;		/* by job */
};

/* ----------
 * A line
 * ----------
 */
static void
store(FileResult *result, const FileResult *told, int worker)
{
	result->rows = told->rows;
	result->raw_bytes = told->raw_bytes;
	result->stored_bytes = told->stored_bytes;
	result->start_us = told->start_us;
	result->end_us = told->end_us;
	result->worker = worker;
	/* the builder of indexes looks from another process */
	__sync_synchronize();
	result->done = true;
}

static void
store_rows(CopyTaskGather *gather, int file, const FileResult *told, int worker)
{
	Run		   *run = gather->run;

	if (run->results->files[file].done)
		return;
	store(&run->results->files[file], told, worker);
	run->results->worker = worker;
	run_event_chunk_end(run, &run->plan->chunks->files[file], NULL);
	run->results->worker = 0;
}

static void
store_object(CopyTaskGather *gather, int object, const FileResult *told,
			 int worker)
{
	FileResult *result = &gather->run->results->objects[object];

	if (!result->done)
		store(result, told, worker);
}

/* Its first job is what it is shown to be at. */
static void
set_at_work(CopyTaskGather *gather, int task, bool at_work)
{
	gather->run->results->workers[task].job =
		at_work && task < gather->run->plan->queue->n_jobs ? task : -1;
}

/* A TaskLineCallback. */
static bool
take_line(void *arg, const TaskAttempt *attempt, const TaskLine *line)
{
	CopyTaskGather *gather = arg;
	const DumpPlan *plan = gather->run->plan;

	switch (line->kind)
	{
		case TASK_LINE_NONE:
			break;
		case TASK_LINE_RUN:
			set_at_work(gather, attempt->task, true);
			return true;
		case TASK_LINE_FILE:
			if (line->number >= (uint64) plan->chunks->n_files)
				return false;
			store_rows(gather, (int) line->number, &line->result, attempt->task);
			return true;
		case TASK_LINE_OBJECT:
			if (line->number >= (uint64) plan->objects->n_objects)
				return false;
			store_object(gather, (int) line->number, &line->result,
						 attempt->task);
			return true;
		case TASK_LINE_REFUSED:
			if (line->number >= (uint64) plan->queue->n_jobs)
				return false;
			gather->refused[line->number] = true;
			return true;
		case TASK_LINE_END:
			set_at_work(gather, attempt->task, false);
			return true;
	}
	return false;
}

/* ----------
 * All of them
 * ----------
 */
CopyTaskGather *
copy_task_gather_new(Run *run, const char *directory, const char *run_id)
{
	CopyTaskGather *gather = pg_malloc0(sizeof(CopyTaskGather));

	gather->run = run;
	gather->n_tasks = (int) run->options->tasks;
	gather->attempts = task_attempts_new(directory, run_id, gather->n_tasks,
										 take_line, gather);
	gather->refused = pg_malloc0((run->plan->queue->n_jobs + 1) * sizeof(bool));
	return gather;
}

void
copy_task_gather_look(CopyTaskGather *gather)
{
	task_attempts_look(gather->attempts);
}

bool
copy_task_gather_job_is_refused(const CopyTaskGather *gather, int job)
{
	return gather->refused[job];
}

/* ----------
 * The results of a job
 * ----------
 */
typedef bool (*ResultCallback) (FileResult *result);

/* For each of them, as long as that is true; was it of all? */
static bool
for_each_result(const CopyTaskGather *gather, int job_no,
				ResultCallback callback)
{
	const DumpPlan *plan = gather->run->plan;
	const Job  *job = &plan->queue->jobs[job_no];
	const LargeObjectGroup *group;

	if (job->kind == JOB_DATA_FILES)
	{
		for (int i = 0; i < job->n; i++)
			if (!callback(run_file_result(gather->run,
										  plan->queue->files[job->first + i])))
				return false;
		return true;
	}
	group = &plan->objects->groups[job->first];
	for (int i = 0; i < group->n_oids; i++)
		if (!callback(&gather->run->results->objects[group->first_object + i]))
			return false;
	return true;
}

static bool
result_is_done(FileResult *result)
{
	return result->done;
}

/* Of a group the sum is the first object's. */
static bool
set_done(FileResult *result)
{
	result->done = true;
	return true;
}

static bool
set_not_done(FileResult *result)
{
	result->done = false;
	return true;
}

bool
copy_task_gather_job_is_done(const CopyTaskGather *gather, int job)
{
	return for_each_result(gather, job, result_is_done);
}

/* ----------
 * The log
 * ----------
 */

/* What an attempt has copied that was lost before it told: by whom? */
static void
take_from_log(CopyTaskGather *gather, const char *name)
{
	const FileResults *results = gather->run->results;
	FileResult	result = {0};
	int			number;

	result.start_us = result.end_us = clock_wall_us();
	if (copy_log_read_rows(name, &number, &result.rows, &result.raw_bytes))
	{
		result.stored_bytes = result.raw_bytes;
		if (number >= 0 && number < results->n_files)
			store_rows(gather, number, &result, 0);
	}
	else if (copy_log_read_objects(name, &number, &result.raw_bytes))
	{
		result.stored_bytes = result.raw_bytes;
		if (number >= 0 && number < results->n_objects)
			store_object(gather, number, &result, 0);
	}
}

void
copy_task_gather_settle(CopyTaskGather *gather, const JobLog *now)
{
	for (int i = 0; i < gather->n_tasks; i++)
		gather->run->results->workers[i].job = -1;
	for (int i = 0; i < now->n_lines; i++)
		take_from_log(gather, now->lines[i].name);
	for (int i = 0; i < gather->run->plan->queue->n_jobs; i++)
	{
		char	   *name = copy_log_job(i);

		(void) for_each_result(gather, i, job_log_is_done(now, name) ?
							   set_done : set_not_done);
		free(name);
	}
}

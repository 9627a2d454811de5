/*
 * task_gather.c
 *		Takes what attempts at tasks tell.
 */
#include "base/fe_compat.h"

#include "status/run_event.h"
#include "tasks/task_deal.h"
#include "tasks/task_gather.h"

/* ----------
 * A line
 * ----------
 */

/* Where the result of a line is; NULL if there is no such file, or object. */
static FileResult *
find_result(const TaskGather *gather, const TaskLine *line)
{
	const FileResults *results = gather->run->results;

	if (line->kind == TASK_LINE_FILE)
		return line->number < (uint64) results->n_files ?
			&results->files[line->number] : NULL;
	return line->number < (uint64) results->n_objects ?
		&results->objects[line->number] : NULL;
}

void
task_gather_tell_rows(const TaskGather *gather, const TaskLine *line, int task)
{
	Run		   *run = gather->run;

	run->results->worker = task;
	run_event_chunk_end(run, &run->plan->chunks->files[line->number],
						line->result.new_reason);
	run->results->worker = 0;
}

static bool
take_result(TaskGather *gather, const TaskAttempt *attempt, const TaskLine *line)
{
	const FileResult *result = find_result(gather, line);

	if (result == NULL || line->result.server >= Max(gather->run->n_servers, 1))
		return false;
	if (!result->done)
		gather->take(gather, attempt, line);
	return true;
}

static bool
take_refused(TaskGather *gather, uint64 job)
{
	if (job >= (uint64) gather->run->plan->queue->n_jobs)
		return false;
	gather->refused[job] = true;
	return true;
}

/* Its first job, by task_deal(), is what it is shown to be at. */
static void
set_at_work(TaskGather *gather, int task, bool at_work)
{
	gather->run->results->workers[task].job =
		at_work && task < gather->run->plan->queue->n_jobs ? task : -1;
}

/* A TaskLineCallback. */
static bool
take_line(void *arg, const TaskAttempt *attempt, const TaskLine *line)
{
	TaskGather *gather = arg;

	switch (line->kind)
	{
		case TASK_LINE_NONE:
			break;
		case TASK_LINE_RUN:
		case TASK_LINE_END:
			set_at_work(gather, attempt->task, line->kind == TASK_LINE_RUN);
			return true;
		case TASK_LINE_FILE:
		case TASK_LINE_OBJECT:
			return take_result(gather, attempt, line);
		case TASK_LINE_REFUSED:
			return take_refused(gather, line->number);
	}
	return false;
}

/* ----------
 * All of them
 * ----------
 */
void
task_gather_begin(TaskGather *gather, Run *run, const char *directory,
				  const char *run_id)
{
	task_deal(run->plan->queue, (int) run->options->tasks);
	gather->run = run;
	gather->directory = directory;
	gather->refused = pg_malloc0((run->plan->queue->n_jobs + 1) * sizeof(bool));
	gather->attempts = task_attempts_new(directory, run_id,
										 (int) run->options->tasks,
										 take_line, gather);
}

void
task_gather_look(TaskGather *gather)
{
	task_attempts_look(gather->attempts);
}

void
task_gather_command_ended(TaskGather *gather)
{
	for (int i = 0; i < (int) gather->run->options->tasks; i++)
		gather->run->results->workers[i].job = -1;
}

bool
task_gather_job_is_done(const TaskGather *gather, int job_no)
{
	const Job  *job = &gather->run->plan->queue->jobs[job_no];
	const FileResult *result;

	for (int i = 0; (result = run_job_result(gather->run, job, i)) != NULL; i++)
		if (!result->done)
			return false;
	return true;
}

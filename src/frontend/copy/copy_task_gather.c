/*
 * copy_task_gather.c
 *		Takes what attempts at tasks of a copy have told.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "copy/copy_log.h"
#include "copy/copy_task_gather.h"

/* A TaskGather's callback. */
static void
take(TaskGather *gather, const TaskAttempt *attempt, const TaskLine *line)
{
	task_gather_store(gather, line, attempt->task);
}

TaskGather *
copy_task_gather_new(Run *run, const char *directory, const char *run_id)
{
	TaskGather *gather = pg_malloc0(sizeof(TaskGather));

	gather->take = take;
	task_gather_begin_all(gather, run, directory, run_id);
	return gather;
}

/* ----------
 * The log
 * ----------
 */

/* What an attempt has copied that was lost before it told: by whom? */
static void
take_from_log(const TaskGather *gather, const char *name)
{
	TaskLine	line = {0};
	FileResult *result = &line.result;
	int			number;

	if (copy_log_read_rows(name, &number, &result->rows, &result->raw_bytes))
		line.kind = TASK_LINE_FILE;
	else if (copy_log_read_objects(name, &number, &result->raw_bytes))
		line.kind = TASK_LINE_OBJECT;
	else
		return;
	line.number = (uint64) number;
	result->stored_bytes = result->raw_bytes;
	result->start_us = result->end_us = clock_wall_us();
	task_gather_store(gather, &line, 0);
}

/* Of a group of large objects the sum is the first one's. */
static void
settle_job(const Run *run, const JobLog *now, int job)
{
	bool		done = job_log_has(now, copy_log_job(job));
	FileResult *result;

	for (int i = 0; (result = run_job_result(run, &run->plan->queue->jobs[job],
											 i)) != NULL; i++)
		result->done = done;
}

void
copy_task_gather_settle(const TaskGather *gather, const JobLog *now)
{
	for (int i = 0; i < now->n_lines; i++)
		take_from_log(gather, now->lines[i].name);
	for (int i = 0; i < gather->n_jobs; i++)
		settle_job(gather->run, now, i);
}

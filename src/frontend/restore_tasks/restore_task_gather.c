/*
 * restore_task_gather.c
 *		Takes what attempts at tasks of a restore have told.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "job_log/restore_log.h"
#include "restore_tasks/restore_task_gather.h"
#include "status/run_event.h"
#include "tasks/task_attempts.h"
#include "toc/toc_context.h"

struct RestoreTaskGather
{
	const RestoreTaskWork *work;
	TaskAttempts *attempts;
	int			n_tasks;
	const int  *jobs;			/* that tasks have now */
	int			n_jobs;
	bool	   *failed;			/* by data file: by an attempt */
	bool	   *objects_failed; /* by group of large objects: the same */
};

/* ----------
 * What cannot be loaded: with --exit-on-error that is the end, at once
 * ----------
 */
static void
note_error(const RestoreTaskGather *gather, const TocEntry *entry,
		   const char *what)
{
	const RestoreTaskWork *work = gather->work;

	toc_context_tell(entry);
	pg_log_error("a task could not load %s: see what it has said", what);
	if (work->run->options->exit_on_error)
		exit(1);
	(void) __sync_fetch_and_add(work->n_errors, 1);
}

static void
leave_out_file(const RestoreTaskGather *gather, int no)
{
	const RestoreTaskWork *work = gather->work;
	const DumpPlan *plan = work->run->plan;
	FileResult *result = &work->run->results->files[no];
	char	   *what = data_file_describe(&plan->chunks->files[no], plan->tables);

	note_error(gather, work->plan->rows[no].entry, what);
	work->left_out[no] = true;
	result->incomplete = true;
	result->done = true;
	free(what);
}

static void
leave_out_group(const RestoreTaskGather *gather, int no)
{
	const RestoreTaskWork *work = gather->work;
	const LargeObjectGroup *group = &work->run->plan->objects->groups[no];
	FileResult *results = &work->run->results->objects[group->first_object];
	char	   *what = large_object_group_describe(group);

	note_error(gather, work->plan->groups[no].entry, what);
	work->objects_left_out[no] = true;
	for (int i = 0; i < group->n_oids; i++)
		results[i].incomplete = results[i].done = true;
	free(what);
}

/* ----------
 * A line
 * ----------
 */

/* The result is whose it is, and what is left out stays so. */
static void
store(const RestoreTaskGather *gather, const TaskAttempt *attempt,
	  FileResult *result, const FileResult *told)
{
	result->rows = told->rows;
	result->raw_bytes = told->raw_bytes;
	result->stored_bytes = told->stored_bytes;
	result->start_us = told->start_us;
	result->end_us = told->end_us;
	result->worker = attempt->task;
	__sync_synchronize();
	result->done = true;
}

static void
take_rows(RestoreTaskGather *gather, const TaskAttempt *attempt,
		  const TaskLine *line)
{
	const RestoreTaskWork *work = gather->work;
	Run		   *run = work->run;
	FileResult *result = &run->results->files[line->number];

	if (result->done || work->left_out[line->number])
		return;
	if (line->result.incomplete)
	{
		gather->failed[line->number] = true;
		if (run->options->exit_on_error)
			leave_out_file(gather, (int) line->number);
		return;
	}
	store(gather, attempt, result, &line->result);
	run->results->worker = attempt->task;
	run_event_chunk_end(run, &run->plan->chunks->files[line->number], NULL);
	run->results->worker = 0;
}

static void
take_object(RestoreTaskGather *gather, const TaskAttempt *attempt,
			const TaskLine *line)
{
	const RestoreTaskWork *work = gather->work;
	FileResult *result = &work->run->results->objects[line->number];
	int			group = large_objects_group_of(work->run->plan->objects,
											   (int) line->number);

	if (result->done || work->objects_left_out[group])
		return;
	if (!line->result.incomplete)
	{
		store(gather, attempt, result, &line->result);
		return;
	}
	gather->objects_failed[group] = true;
	if (work->run->options->exit_on_error)
		leave_out_group(gather, group);
}

/* Its first job is what it is shown to be at. */
static void
set_at_work(RestoreTaskGather *gather, const TaskAttempt *attempt, bool at_work)
{
	gather->work->run->results->workers[attempt->task].job =
		at_work && attempt->task < gather->n_jobs ?
		gather->jobs[attempt->task] : -1;
}

/* A TaskLineCallback. */
static bool
take_line(void *arg, const TaskAttempt *attempt, const TaskLine *line)
{
	RestoreTaskGather *gather = arg;
	const DumpPlan *plan = gather->work->run->plan;

	switch (line->kind)
	{
		case TASK_LINE_RUN:
			set_at_work(gather, attempt, true);
			return true;
		case TASK_LINE_FILE:
			if (line->number >= (uint64) plan->chunks->n_files)
				return false;
			take_rows(gather, attempt, line);
			return true;
		case TASK_LINE_OBJECT:
			if (line->number >= (uint64) plan->objects->n_objects)
				return false;
			take_object(gather, attempt, line);
			return true;
		case TASK_LINE_END:
			set_at_work(gather, attempt, false);
			return true;
		default:
			return false;
	}
}

/* ----------
 * All of them
 * ----------
 */
RestoreTaskGather *
restore_task_gather_new(const RestoreTaskWork *work, const char *directory,
						const char *run_id)
{
	RestoreTaskGather *gather = pg_malloc0(sizeof(RestoreTaskGather));
	const DumpPlan *plan = work->run->plan;

	gather->work = work;
	gather->n_tasks = (int) work->run->options->tasks;
	gather->attempts = task_attempts_new(directory, run_id, gather->n_tasks,
										 take_line, gather);
	gather->failed = pg_malloc0((plan->chunks->n_files + 1) * sizeof(bool));
	gather->objects_failed = pg_malloc0((plan->objects->n_groups + 1) * sizeof(bool));
	return gather;
}

void
restore_task_gather_begin(RestoreTaskGather *gather, const int *jobs, int n_jobs)
{
	gather->jobs = jobs;
	gather->n_jobs = n_jobs;
}

void
restore_task_gather_look(RestoreTaskGather *gather)
{
	task_attempts_look(gather->attempts);
}

/* ----------
 * The log
 * ----------
 */

/*
 * It is loaded by an attempt that has not told so: what the manifest says is
 * all that is known.
 */
static void
set_done(FileResult *result, const ManifestFile *want)
{
	result->rows = want ? want->rows : 0;
	result->raw_bytes = result->stored_bytes = want ? want->raw_bytes : 0;
	result->start_us = result->end_us = clock_wall_us();
	__sync_synchronize();
	result->done = true;
}

static bool
is_noted(const JobLog *now, char *name)
{
	bool		result = job_log_is_done(now, name);

	free(name);
	return result;
}

static bool
file_is_noted(const RestoreTaskGather *gather, const JobLog *now, int no)
{
	return is_noted(now, restore_log_file(&gather->work->run->plan->chunks->files[no]));
}

static bool
group_is_noted(const RestoreTaskGather *gather, const JobLog *now, int no)
{
	const RestoreTaskWork *work = gather->work;

	return is_noted(now, restore_log_group(&work->plan->groups[no],
										   &work->run->plan->objects->groups[no]));
}

bool
restore_task_gather_is_in_doubt(const RestoreTaskGather *gather,
								const JobLog *now)
{
	const RestoreTaskWork *work = gather->work;
	const DumpPlan *plan = work->run->plan;

	for (int i = 0; i < plan->chunks->n_files; i++)
		if (gather->failed[i] && !work->left_out[i] &&
			!file_is_noted(gather, now, i))
			return true;
	for (int i = 0; i < plan->objects->n_groups; i++)
		if (gather->objects_failed[i] && !work->objects_left_out[i] &&
			!group_is_noted(gather, now, i))
			return true;
	return false;
}

/*
 * A crash takes lines of unlogged tables, and with them the run
 * (restore_unlogged.h).  Of those that were loaded in pieces there is no line
 * for all: so what was told counts.
 */
static void
settle_file(RestoreTaskGather *gather, const JobLog *now, int no)
{
	const RestoreTaskWork *work = gather->work;
	const DataFile *file = &work->run->plan->chunks->files[no];
	FileResult *result = &work->run->results->files[no];
	bool		noted;

	if (work->left_out[no])
		return;
	noted = file_is_noted(gather, now, no);
	if (noted && !result->done)
		set_done(result, work->plan->rows[no].want);
	else if (!noted && gather->failed[no])
		leave_out_file(gather, no);
	else if (!noted && work->kinds[file->table] == JOB_LOG_LASTING)
		result->done = false;
}

static void
settle_group(RestoreTaskGather *gather, const JobLog *now, int no)
{
	const RestoreTaskWork *work = gather->work;
	const LargeObjectGroup *group = &work->run->plan->objects->groups[no];
	FileResult *results = &work->run->results->objects[group->first_object];
	bool		noted;

	if (work->objects_left_out[no])
		return;
	noted = group_is_noted(gather, now, no);
	if (!noted && gather->objects_failed[no])
	{
		leave_out_group(gather, no);
		return;
	}
	for (int i = 0; i < group->n_oids; i++)
	{
		if (noted && !results[i].done)
			set_done(&results[i], NULL);
		else if (!noted)
			results[i].done = false;
	}
}

void
restore_task_gather_settle(RestoreTaskGather *gather, const JobLog *now)
{
	const DumpPlan *plan = gather->work->run->plan;

	for (int i = 0; i < gather->n_tasks; i++)
		gather->work->run->results->workers[i].job = -1;
	for (int i = 0; i < plan->chunks->n_files; i++)
		settle_file(gather, now, i);
	for (int i = 0; i < plan->objects->n_groups; i++)
		settle_group(gather, now, i);
}

bool
restore_task_gather_is_done(const RestoreTaskGather *gather, const Job *job)
{
	const RestoreTaskWork *work = gather->work;
	const DumpPlan *plan = work->run->plan;
	const LargeObjectGroup *group;

	if (job->kind == JOB_DATA_FILES)
	{
		for (int i = 0; i < job->n; i++)
		{
			int			no = plan->queue->files[job->first + i] - plan->chunks->files;

			if (!work->left_out[no] && !work->run->results->files[no].done)
				return false;
		}
		return true;
	}
	if (work->objects_left_out[job->first])
		return true;
	group = &plan->objects->groups[job->first];
	for (int i = 0; i < group->n_oids; i++)
		if (!work->run->results->objects[group->first_object + i].done)
			return false;
	return true;
}

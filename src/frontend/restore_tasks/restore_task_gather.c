/*
 * restore_task_gather.c
 *		Takes what attempts at tasks of a restore have told.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "job_log/restore_log.h"
#include "restore_tasks/restore_task_gather.h"
#include "toc/toc_context.h"

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
static void
take_failed_rows(RestoreTaskGather *gather, int file)
{
	gather->failed[file] = true;
	if (gather->work->run->options->exit_on_error)
		leave_out_file(gather, file);
}

static void
take_failed_objects(RestoreTaskGather *gather, int group)
{
	gather->objects_failed[group] = true;
	if (gather->work->run->options->exit_on_error)
		leave_out_group(gather, group);
}

/* A TaskGather's callback.  What is left out stays so. */
static void
take(TaskGather *base, const TaskAttempt *attempt, const TaskLine *line)
{
	RestoreTaskGather *gather = (RestoreTaskGather *) base;
	const RestoreTaskWork *work = gather->work;
	bool		is_file = line->kind == TASK_LINE_FILE;
	int			number = (int) line->number;
	int			no = is_file ? number :
		large_objects_group_of(work->run->plan->objects, number);

	if (is_file ? work->left_out[no] : work->objects_left_out[no])
		return;
	if (!line->result.incomplete)
		task_gather_store(base, line, attempt->task);
	else if (is_file)
		take_failed_rows(gather, no);
	else
		take_failed_objects(gather, no);
}

RestoreTaskGather *
restore_task_gather_new(const RestoreTaskWork *work, const char *directory,
						const char *run_id)
{
	RestoreTaskGather *gather = pg_malloc0(sizeof(RestoreTaskGather));
	const DumpPlan *plan = work->run->plan;

	gather->work = work;
	gather->failed = pg_malloc0((plan->chunks->n_files + 1) * sizeof(bool));
	gather->objects_failed = pg_malloc0((plan->objects->n_groups + 1) * sizeof(bool));
	gather->base.take = take;
	gather->base.left_out = work->left_out;
	gather->base.objects_left_out = work->objects_left_out;
	task_gather_begin(&gather->base, work->run, directory, run_id);
	return gather;
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
file_is_noted(const RestoreTaskGather *gather, const JobLog *now, int no)
{
	return job_log_has(now, restore_log_file(&gather->work->run->plan->chunks->files[no]));
}

static bool
group_is_noted(const RestoreTaskGather *gather, const JobLog *now, int no)
{
	const RestoreTaskWork *work = gather->work;

	return job_log_has(now, restore_log_group(&work->plan->groups[no],
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

	for (int i = 0; i < plan->chunks->n_files; i++)
		settle_file(gather, now, i);
	for (int i = 0; i < plan->objects->n_groups; i++)
		settle_group(gather, now, i);
}

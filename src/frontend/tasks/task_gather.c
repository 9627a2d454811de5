/*
 * task_gather.c
 *		Takes the results of tasks, and their files into the archive.
 *
 * The leader alone gives names in the archive: of several attempts at a file
 * the first to tell of it has made the archive's, and what it has told is
 * what the manifest tells.  An attempt that comes later can change neither.
 */
#include "base/fe_compat.h"

#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_name.h"
#include "base/message.h"
#include "status/run.h"
#include "tasks/task_deal.h"
#include "tasks/task_gather.h"

/* ----------
 * A file
 * ----------
 */

/*
 * Give the file its name in the archive; false if it is not there, whole.
 * Commands of --pipe have taken it where it belongs.
 */
static bool
take_file(const TaskGather *gather, const TaskAttempt *attempt, char *name,
		  const FileResult *result)
{
	char	   *path = psprintf("%s/%s.%s", gather->directory, name,
								attempt->name);
	struct stat st;
	bool		taken = true;

	if (gather->run->options->pipe_command == NULL)
	{
		taken = lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
			st.st_uid == geteuid() && (uint64) st.st_size == result->stored_bytes;
		if (taken)
			archive_dir_take_file(gather->run->archive, path, name);
		else
			pg_log_warning("file \"%s\" is not what its task has told",
						   printable(path));
	}
	free(path);
	free(name);
	return taken;
}

/* The result is the line's, but for what is freed with that. */
static void
store(FileResult *result, const TaskLine *line, int task)
{
	*result = line->result;
	result->new_reason = NULL;
	result->worker = task;
	result->done = true;
}

static void
tell_rows(const TaskGather *gather, const TaskLine *line, int task)
{
	Run		   *run = gather->run;

	run->results->worker = task;
	run_event_chunk_end(run, &run->plan->chunks->files[line->number],
						line->result.new_reason);
	run->results->worker = 0;
}

static void
take_rows(TaskGather *gather, const TaskAttempt *attempt, const TaskLine *line)
{
	const DumpPlan *plan = gather->run->plan;
	const DataFile *file = &plan->chunks->files[line->number];

	if (!take_file(gather, attempt,
				   archive_name_rows(file->dump_id, plan->compress.method),
				   &line->result))
		return;
	store(&gather->run->results->files[line->number], line, attempt->task);
	tell_rows(gather, line, attempt->task);
}

/* The OID of a large object by its number among those of all groups. */
static Oid
object_oid(const LargeObjects *objects, int number)
{
	const LargeObjectGroup *group = &objects->groups[large_objects_group_of(objects, number)];

	return group->oids[number - group->first_object];
}

static void
take_object(TaskGather *gather, const TaskAttempt *attempt, const TaskLine *line)
{
	const DumpPlan *plan = gather->run->plan;
	Oid			oid = object_oid(plan->objects, (int) line->number);

	if (take_file(gather, attempt,
				  archive_name_large_object(oid, plan->compress.method),
				  &line->result))
		store(&gather->run->results->objects[line->number], line,
			  attempt->task);
}

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

static bool
take_result(TaskGather *gather, const TaskAttempt *attempt, const TaskLine *line)
{
	const FileResult *result = find_result(gather, line);

	if (result == NULL || line->result.server >= Max(gather->run->n_servers, 1))
		return false;
	if (!result->done && line->kind == TASK_LINE_FILE)
		take_rows(gather, attempt, line);
	else if (!result->done)
		take_object(gather, attempt, line);
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
 * All lines
 * ----------
 */
TaskGather *
task_gather_new(Run *run, const char *directory, const char *run_id)
{
	TaskGather *gather = pg_malloc0(sizeof(TaskGather));

	task_deal(run->plan->queue, (int) run->options->tasks);
	gather->run = run;
	gather->directory = directory;
	gather->refused = pg_malloc0((run->plan->queue->n_jobs + 1) * sizeof(bool));
	gather->attempts = task_attempts_new(directory, run_id,
										 (int) run->options->tasks,
										 take_line, gather);
	return gather;
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

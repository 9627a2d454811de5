/*
 * dump_task_gather.c
 *		Takes what attempts at tasks of a dump have made.
 *
 * The leader alone gives names in the archive: of several attempts at a file
 * the first to tell of it has made the archive's, and what it has told is
 * what the manifest tells.  An attempt that comes later can change neither.
 */
#include "base/fe_compat.h"

#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_name.h"
#include "base/printable.h"
#include "dump_tasks/dump_task_gather.h"
#include "status/run_event.h"
#include "tasks/task_attempts.h"

struct DumpTaskGather
{
	Run		   *run;
	const char *directory;
	int			n_tasks;
	TaskAttempts *attempts;
	bool	   *refused;		/* by job */
};

/* ----------
 * A line
 * ----------
 */

/*
 * Give the file its name in the archive; false if it is not there, whole.
 * Commands of --pipe have taken it where it belongs.
 */
static bool
take_file(const DumpTaskGather *gather, const TaskAttempt *attempt, char *name,
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

/* The file's result, and whose it is. */
static void
store(const DumpTaskGather *gather, const TaskAttempt *attempt, FileResult *result,
	  const FileResult *told)
{
	*result = *told;
	result->worker = attempt->task;
	result->done = true;
	gather->run->results->worker = attempt->task;
}

static void
take_rows(DumpTaskGather *gather, const TaskAttempt *attempt, const TaskLine *line)
{
	const DumpPlan *plan = gather->run->plan;
	const DataFile *file = &plan->chunks->files[line->number];
	FileResult *result = &gather->run->results->files[line->number];

	if (result->done ||
		!take_file(gather, attempt,
				   archive_name_rows(file->dump_id, plan->compress.method),
				   &line->result))
		return;
	store(gather, attempt, result, &line->result);
	result->new_reason = NULL;	/* the line's */
	run_event_chunk_end(gather->run, file, line->result.new_reason);
	gather->run->results->worker = 0;
}

/* The OID of a large object by its number among those of all groups. */
static Oid
object_oid(const LargeObjects *objects, int number)
{
	const LargeObjectGroup *group = &objects->groups[large_objects_group_of(objects, number)];

	return group->oids[number - group->first_object];
}

static void
take_object(DumpTaskGather *gather, const TaskAttempt *attempt, const TaskLine *line)
{
	const DumpPlan *plan = gather->run->plan;
	FileResult *result = &gather->run->results->objects[line->number];
	Oid			oid = object_oid(plan->objects, (int) line->number);

	if (result->done ||
		!take_file(gather, attempt,
				   archive_name_large_object(oid, plan->compress.method),
				   &line->result))
		return;
	store(gather, attempt, result, &line->result);
	gather->run->results->worker = 0;
}

/* The first job of a task: what it is shown to be at. */
static void
set_at_work(DumpTaskGather *gather, const TaskAttempt *attempt, bool at_work)
{
	gather->run->results->workers[attempt->task].job =
		at_work ? attempt->task : -1;
}

static bool
line_is_possible(const Run *run, const TaskLine *line)
{
	const DumpPlan *plan = run->plan;

	if (line->result.server >= Max(run->n_servers, 1))
		return false;
	switch (line->kind)
	{
		case TASK_LINE_FILE:
			return line->number < (uint64) plan->chunks->n_files;
		case TASK_LINE_OBJECT:
			return line->number < (uint64) plan->objects->n_objects;
		case TASK_LINE_REFUSED:
			return line->number < (uint64) plan->queue->n_jobs;
		default:
			return true;
	}
}

/* A TaskLineCallback. */
static bool
take_line(void *arg, const TaskAttempt *attempt, const TaskLine *line)
{
	DumpTaskGather *gather = arg;

	if (!line_is_possible(gather->run, line))
		return false;
	switch (line->kind)
	{
		case TASK_LINE_NONE:
			break;
		case TASK_LINE_RUN:
			set_at_work(gather, attempt, true);
			break;
		case TASK_LINE_FILE:
			take_rows(gather, attempt, line);
			break;
		case TASK_LINE_OBJECT:
			take_object(gather, attempt, line);
			break;
		case TASK_LINE_REFUSED:
			gather->refused[line->number] = true;
			break;
		case TASK_LINE_END:
			set_at_work(gather, attempt, false);
			break;
	}
	return true;
}

/* ----------
 * All of them
 * ----------
 */
DumpTaskGather *
dump_task_gather_new(Run *run, const char *directory, const char *run_id)
{
	DumpTaskGather *gather = pg_malloc0(sizeof(DumpTaskGather));

	gather->run = run;
	gather->directory = directory;
	gather->n_tasks = (int) run->options->tasks;
	gather->attempts = task_attempts_new(directory, run_id, gather->n_tasks,
										 take_line, gather);
	gather->refused = pg_malloc0((run->plan->queue->n_jobs + 1) * sizeof(bool));
	return gather;
}

void
dump_task_gather_look(DumpTaskGather *gather)
{
	task_attempts_look(gather->attempts);
}

const char *
dump_task_gather_not_ended(const DumpTaskGather *gather)
{
	return task_attempts_not_ended(gather->attempts);
}

void
dump_task_gather_command_ended(DumpTaskGather *gather)
{
	for (int i = 0; i < gather->n_tasks; i++)
		gather->run->results->workers[i].job = -1;
}

bool
dump_task_gather_job_is_done(const DumpTaskGather *gather, int job_no)
{
	const DumpPlan *plan = gather->run->plan;
	const Job  *job = &plan->queue->jobs[job_no];
	const LargeObjectGroup *group;

	if (job->kind == JOB_DATA_FILES)
	{
		for (int i = 0; i < job->n; i++)
			if (!run_file_result(gather->run, plan->queue->files[job->first + i])->done)
				return false;
		return true;
	}
	group = &plan->objects->groups[job->first];
	for (int i = 0; i < group->n_oids; i++)
		if (!gather->run->results->objects[group->first_object + i].done)
			return false;
	return true;
}

bool
dump_task_gather_job_is_refused(const DumpTaskGather *gather, int job)
{
	return gather->refused[job];
}

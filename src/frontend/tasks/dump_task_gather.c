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
#include "tasks/dump_task_gather.h"

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
take_rows(TaskGather *gather, const TaskAttempt *attempt, const TaskLine *line)
{
	const DumpPlan *plan = gather->run->plan;
	const DataFile *file = &plan->chunks->files[line->number];

	if (!take_file(gather, attempt,
				   archive_name_rows(file->dump_id, plan->compress.method),
				   &line->result))
		return;
	store(&gather->run->results->files[line->number], line, attempt->task);
	task_gather_tell_rows(gather, line, attempt->task);
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

/* A TaskGather's callback. */
static void
take(TaskGather *gather, const TaskAttempt *attempt, const TaskLine *line)
{
	if (line->kind == TASK_LINE_FILE)
		take_rows(gather, attempt, line);
	else
		take_object(gather, attempt, line);
}

TaskGather *
dump_task_gather_new(Run *run, const char *directory, const char *run_id)
{
	TaskGather *gather = pg_malloc0(sizeof(TaskGather));

	gather->take = take;
	task_gather_begin(gather, run, directory, run_id);
	return gather;
}

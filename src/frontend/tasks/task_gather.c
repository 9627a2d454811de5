/*
 * task_gather.c
 *		Takes what attempts at tasks have made.
 *
 * The leader alone gives names in the archive: of several attempts at a file
 * the first to tell of it has made the archive's, and what it has told is
 * what the manifest tells.  An attempt that comes later can change neither.
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_name.h"
#include "base/printable.h"
#include "status/run_event.h"
#include "tasks/plan_read.h"
#include "tasks/task_gather.h"
#include "tasks/task_result.h"

/* An attempt, and how far its results are read. */
typedef struct Attempt
{
	char	   *name;
	int			task;
	off_t		read;
	bool		is_ours;		/* its first line says so */
	bool		is_wrong;		/* nothing of it is taken */
	bool		ended;			/* by itself: no command of its is left */
} Attempt;

struct TaskGather
{
	Run		   *run;
	const char *directory;
	const char *run_id;
	int			n_tasks;
	Attempt    *attempts;		/* sorted by name: each is looked up whenever
								 * the directory is listed */
	int			n_attempts;
	int			n_allocated;
	bool	   *refused;		/* by job */
};

TaskGather *
task_gather_new(Run *run, const char *directory, const char *run_id)
{
	TaskGather *gather = pg_malloc0(sizeof(TaskGather));

	gather->run = run;
	gather->directory = directory;
	gather->run_id = run_id;
	gather->n_tasks = (int) run->options->tasks;
	gather->refused = pg_malloc0((run->plan->queue->n_jobs + 1) * sizeof(bool));
	return gather;
}

/* ----------
 * A line
 * ----------
 */

/*
 * Give the file its name in the archive; false if it is not there, whole.
 * Commands of --pipe have taken it where it belongs.
 */
static bool
take_file(const TaskGather *gather, const Attempt *attempt, char *name,
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
store(const TaskGather *gather, const Attempt *attempt, FileResult *result,
	  const FileResult *told)
{
	*result = *told;
	result->worker = attempt->task;
	result->done = true;
	gather->run->results->worker = attempt->task;
}

static void
take_rows(TaskGather *gather, const Attempt *attempt, const TaskLine *line)
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
	run_event_chunk_end(gather->run, file, NULL);
	gather->run->results->worker = 0;
}

/* The OID of a large object by its number among those of all groups. */
static Oid
object_oid(const LargeObjects *objects, int number)
{
	int			low = 0;
	int			high = objects->n_groups - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (objects->groups[middle].first_object <= number)
			low = middle;
		else
			high = middle - 1;
	}
	return objects->groups[low].oids[number - objects->groups[low].first_object];
}

static void
take_object(TaskGather *gather, const Attempt *attempt, const TaskLine *line)
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
set_at_work(TaskGather *gather, const Attempt *attempt, bool at_work)
{
	gather->run->results->workers[attempt->task].job =
		at_work ? attempt->task : -1;
}

static bool
line_is_possible(const TaskGather *gather, const Attempt *attempt,
				 const TaskLine *line)
{
	const DumpPlan *plan = gather->run->plan;

	switch (line->kind)
	{
		case TASK_LINE_NONE:
			return false;
		case TASK_LINE_RUN:
			return line->run_id != NULL &&
				strcmp(line->run_id, gather->run_id) == 0;
		case TASK_LINE_FILE:
			return attempt->is_ours && line->number < (uint64) plan->chunks->n_files;
		case TASK_LINE_OBJECT:
			return attempt->is_ours && line->number < (uint64) plan->objects->n_objects;
		case TASK_LINE_REFUSED:
			return attempt->is_ours && line->number < (uint64) plan->queue->n_jobs;
		case TASK_LINE_END:
			return attempt->is_ours;
	}
	return false;
}

static void
take_line(TaskGather *gather, Attempt *attempt, const char *text, size_t len)
{
	TaskLine	line;

	if (!task_result_read(text, len, &line) ||
		!line_is_possible(gather, attempt, &line))
	{
		pg_log_warning("results \"%s\" are not of this run, or damaged: the rest of them is not taken",
					   printable(attempt->name));
		attempt->is_wrong = true;
		free(line.run_id);
		return;
	}
	switch (line.kind)
	{
		case TASK_LINE_NONE:
			break;
		case TASK_LINE_RUN:
			attempt->is_ours = true;
			set_at_work(gather, attempt, true);
			break;
		case TASK_LINE_FILE:
			take_rows(gather, attempt, &line);
			break;
		case TASK_LINE_OBJECT:
			take_object(gather, attempt, &line);
			break;
		case TASK_LINE_REFUSED:
			gather->refused[line.number] = true;
			break;
		case TASK_LINE_END:
			attempt->ended = true;
			set_at_work(gather, attempt, false);
			break;
	}
	free(line.run_id);
}

/* ----------
 * An attempt's lines
 * ----------
 */

/* A line without an end is yet to be completed, or never will be. */
static void
take_lines(TaskGather *gather, Attempt *attempt, const char *text, size_t len)
{
	const char *newline;

	while (!attempt->is_wrong && (newline = memchr(text, '\n', len)) != NULL)
	{
		size_t		line_len = newline - text;

		take_line(gather, attempt, text, line_len);
		text += line_len + 1;
		len -= line_len + 1;
		attempt->read += line_len + 1;
	}
}

/*
 * Opened anew each time: so a network's file system shows what others have
 * written and closed or flushed.
 */
static void
read_attempt(TaskGather *gather, Attempt *attempt)
{
	char	   *path;
	const char *problem;
	struct stat st;
	size_t		len;
	char	   *text;
	int			fd;

	if (attempt->is_wrong || attempt->ended)
		return;
	path = psprintf("%s/%s" TASK_RESULT_SUFFIX, gather->directory,
					attempt->name);
	if (stat(path, &st) == 0 && st.st_size == attempt->read)
	{
		free(path);
		return;
	}
	fd = plan_read_open(path, &problem);
	if (fd < 0)
	{
		pg_log_warning("results \"%s\" are not taken: the file %s", printable(path), problem);
		attempt->is_wrong = errno != ENOENT;
	}
	else if (lseek(fd, attempt->read, SEEK_SET) < 0)
		pg_fatal("could not seek in file \"%s\": %m", path);
	else
	{
		text = plan_read_text(fd, path, &len);
		take_lines(gather, attempt, text, len);
		free(text);
	}
	if (fd >= 0)
		close(fd);
	free(path);
}

/* The place of the attempt's name, or where it would be. */
static int
find_attempt(const TaskGather *gather, const char *name)
{
	int			low = 0;
	int			high = gather->n_attempts;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (strcmp(gather->attempts[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
insert_attempt(TaskGather *gather, int place, const Attempt *attempt)
{
	if (gather->n_attempts == gather->n_allocated)
	{
		gather->n_allocated = gather->n_allocated ? gather->n_allocated * 2 : 64;
		gather->attempts = pg_realloc(gather->attempts,
									  gather->n_allocated * sizeof(Attempt));
	}
	memmove(&gather->attempts[place + 1], &gather->attempts[place],
			(gather->n_attempts++ - place) * sizeof(Attempt));
	gather->attempts[place] = *attempt;
}

/* The attempt of a file with this name: TASK.HOST.... and the suffix. */
static void
note_attempt(TaskGather *gather, const char *file_name)
{
	size_t		len = strlen(file_name);
	Attempt		attempt = {0};
	int			place;
	char	   *end;
	unsigned long task = strtoul(file_name, &end, 10);

	if (len <= strlen(TASK_RESULT_SUFFIX) || end == file_name || *end != '.' ||
		strcmp(file_name + len - strlen(TASK_RESULT_SUFFIX), TASK_RESULT_SUFFIX) != 0 ||
		task >= (unsigned long) gather->n_tasks)
		return;
	attempt.name = pnstrdup(file_name, len - strlen(TASK_RESULT_SUFFIX));
	attempt.task = (int) task;
	place = find_attempt(gather, attempt.name);
	if (place < gather->n_attempts &&
		strcmp(gather->attempts[place].name, attempt.name) == 0)
		free(attempt.name);
	else
		insert_attempt(gather, place, &attempt);
}

void
task_gather_look(TaskGather *gather)
{
	DIR		   *listing = opendir(gather->directory);
	struct dirent *entry;

	if (listing == NULL)
		pg_fatal("could not open directory \"%s\": %m", gather->directory);
	while ((entry = readdir(listing)) != NULL)
		note_attempt(gather, entry->d_name);
	closedir(listing);
	for (int i = 0; i < gather->n_attempts; i++)
		read_attempt(gather, &gather->attempts[i]);
}

const char *
task_gather_not_ended(const TaskGather *gather)
{
	for (int i = 0; i < gather->n_attempts; i++)
		if (gather->attempts[i].is_ours && !gather->attempts[i].ended)
			return gather->attempts[i].name;
	return NULL;
}

void
task_gather_command_ended(TaskGather *gather)
{
	for (int i = 0; i < gather->n_tasks; i++)
		gather->run->results->workers[i].job = -1;
}

bool
task_gather_job_is_done(const TaskGather *gather, int job_no)
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
task_gather_job_is_refused(const TaskGather *gather, int job)
{
	return gather->refused[job];
}

/*
 * task_collector.c
 *		Takes the results of tasks, and their files into the archive.
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
#include "base/message.h"
#include "plan/job_queue.h"
#include "plan/lower_bound.h"
#include "status/run.h"
#include "tasks/task_collector.h"
#include "tasks/task_place.h"

/* ----------
 * Reads what attempts at tasks tell.
 * ----------
 */

struct TaskAttempts
{
	const char *directory;
	const char *run_id;
	int			n_tasks;
	TaskLineCallback take;
	void	   *arg;
	TaskAttempt *list;			/* sorted by name: each is looked up whenever
								 * the directory is listed */
	int			n;
	int			n_allocated;
};

/* directory is that of the plan of this run. */
static TaskAttempts *
task_attempts_new(const char *directory, const char *run_id, int n_tasks,
				  TaskLineCallback take, void *arg)
{
	TaskAttempts *attempts = pg_malloc0(sizeof(TaskAttempts));

	attempts->directory = directory;
	attempts->run_id = run_id;
	attempts->n_tasks = n_tasks;
	attempts->take = take;
	attempts->arg = arg;
	return attempts;
}

/* Checks what is the same for all runs; the callback checks the rest. */
static bool
line_is_possible(const TaskAttempts *attempts, const TaskAttempt *attempt,
				 const TaskLine *line)
{
	if (line->kind != TASK_LINE_RUN)
		return attempt->is_ours && line->kind != TASK_LINE_NONE;
	return line->run_id != NULL && strcmp(line->run_id, attempts->run_id) == 0;
}

static void
take_line(TaskAttempts *attempts, TaskAttempt *attempt, const char *text,
		  size_t len)
{
	TaskLine	line;

	if (!task_result_read(text, len, &line) ||
		!line_is_possible(attempts, attempt, &line) ||
		!attempts->take(attempts->arg, attempt, &line))
	{
		pg_log_warning("results \"%s\" are not of this run, or damaged: the rest of them is not taken",
					   printable(attempt->name));
		attempt->is_wrong = true;
	}
	else if (line.kind == TASK_LINE_RUN)
		attempt->is_ours = true;
	else if (line.kind == TASK_LINE_END)
		attempt->ended = true;
	task_result_free(&line);
}

/* A line without an end is yet to be completed, or never will be. */
static void
take_lines(TaskAttempts *attempts, TaskAttempt *attempt, const char *text, size_t len)
{
	const char *newline;

	while (!attempt->is_wrong && (newline = memchr(text, '\n', len)) != NULL)
	{
		size_t		line_len = newline - text;

		take_line(attempts, attempt, text, line_len);
		text += line_len + 1;
		len -= line_len + 1;
		attempt->read += line_len + 1;
	}
}

/*
 * The file is opened each time, so that a network's file system shows what
 * another host has written and closed or flushed.  Attributes asked by name
 * may be old.
 */
static void
read_attempt(TaskAttempts *attempts, TaskAttempt *attempt)
{
	char	   *path;
	const char *problem;
	struct stat st;
	size_t		len;
	char	   *text;
	int			fd;

	if (attempt->is_wrong || attempt->ended)
		return;
	path = psprintf("%s/%s" TASK_RESULT_SUFFIX, attempts->directory,
					attempt->name);
	fd = task_place_open(path, &problem);
	if (fd < 0)
	{
		attempt->is_wrong = errno != ENOENT;
		pg_log_warning("results \"%s\" are not taken: the file %s", printable(path), problem);
	}
	else if (fstat(fd, &st) == 0 && st.st_size == attempt->read)
		;						/* nothing is new */
	else if (lseek(fd, attempt->read, SEEK_SET) < 0)
		pg_fatal("could not seek in file \"%s\": %m", path);
	else
	{
		text = task_place_read(fd, path, &len);
		take_lines(attempts, attempt, text, len);
		free(text);
	}
	if (fd >= 0)
		close(fd);
	free(path);
}

static int
compare_attempts(const void *a, const void *b)
{
	return strcmp(((const TaskAttempt *) a)->name,
				  ((const TaskAttempt *) b)->name);
}

static void
insert_attempt(TaskAttempts *attempts, int place, const TaskAttempt *attempt)
{
	if (attempts->n == attempts->n_allocated)
	{
		attempts->n_allocated = attempts->n_allocated ? attempts->n_allocated * 2 : 64;
		attempts->list = pg_realloc(attempts->list,
									attempts->n_allocated * sizeof(TaskAttempt));
	}
	memmove(&attempts->list[place + 1], &attempts->list[place],
			(attempts->n++ - place) * sizeof(TaskAttempt));
	attempts->list[place] = *attempt;
}

/* The attempt of a file with this name: TASK.HOST.... and the suffix. */
static void
note_attempt(TaskAttempts *attempts, const char *file_name)
{
	size_t		len = strlen(file_name);
	TaskAttempt attempt = {0};
	int			place;
	char	   *end;
	unsigned long task = strtoul(file_name, &end, 10);

	if (len <= strlen(TASK_RESULT_SUFFIX) || end == file_name || *end != '.' ||
		strcmp(file_name + len - strlen(TASK_RESULT_SUFFIX), TASK_RESULT_SUFFIX) != 0 ||
		task >= (unsigned long) attempts->n_tasks)
		return;
	attempt.name = pnstrdup(file_name, len - strlen(TASK_RESULT_SUFFIX));
	attempt.task = (int) task;
	place = lower_bound(&attempt, attempts->list, attempts->n,
						sizeof(TaskAttempt), compare_attempts);
	if (place < attempts->n &&
		strcmp(attempts->list[place].name, attempt.name) == 0)
		free(attempt.name);
	else
		insert_attempt(attempts, place, &attempt);
}

/* Take what is new. */
static void
task_attempts_look(TaskAttempts *attempts)
{
	DIR		   *listing = opendir(attempts->directory);
	struct dirent *entry;

	if (listing == NULL)
		pg_fatal("could not open directory \"%s\": %m", attempts->directory);
	while ((entry = readdir(listing)) != NULL)
		note_attempt(attempts, entry->d_name);
	closedir(listing);
	for (int i = 0; i < attempts->n; i++)
		read_attempt(attempts, &attempts->list[i]);
}

const char *
task_attempts_not_ended(const TaskAttempts *attempts)
{
	for (int i = 0; i < attempts->n; i++)
		if (attempts->list[i].is_ours && !attempts->list[i].ended)
			return attempts->list[i].name;
	return NULL;
}

/* ----------
 * Which task does which jobs.
 *
 * Each job, the longest first, goes to the task that has the least (Graham,
 * Bounds on Multiprocessing Timing Anomalies, 1969).
 *
 * In the leader, before a plan is written: which task does which jobs.
 * ----------
 */

/*
 * A file costs about a millisecond beside its contents: as much as this
 * number of bytes.
 */
#define FILE_BYTES 100000

/* What a task has to do. */
typedef struct TaskLoad
{
	uint64		bytes;
	int			task;
} TaskLoad;

static bool
is_less(const TaskLoad *a, const TaskLoad *b)
{
	return a->bytes != b->bytes ? a->bytes < b->bytes : a->task < b->task;
}

/* Loads are a heap, the least on top: the top has become more. */
static void
sift_down(TaskLoad *loads, int n)
{
	TaskLoad	top = loads[0];
	int			i = 0;

	for (;;)
	{
		int			child = 2 * i + 1;

		if (child + 1 < n && is_less(&loads[child + 1], &loads[child]))
			child++;
		if (child >= n || !is_less(&loads[child], &top))
			break;
		loads[i] = loads[child];
		i = child;
	}
	loads[i] = top;
}

/*
 * Deal out the queue's jobs to n_tasks tasks, so that all have the same to
 * do.
 */
static void
task_deal(const JobQueue *queue, int n_tasks)
{
	TaskLoad   *loads = pg_malloc0(n_tasks * sizeof(TaskLoad));

	for (int i = 0; i < n_tasks; i++)
		loads[i].task = i;
	for (int i = 0; i < queue->n_jobs; i++)
	{
		Job		   *job = &queue->jobs[i];

		job->task = loads[0].task;
		loads[0].bytes += job->est_bytes + (uint64) job->n * FILE_BYTES;
		sift_down(loads, n_tasks);
	}
	free(loads);
}

/* ----------
 * Takes the results of tasks, and their files into the archive.
 * ----------
 */

/* ----------
 * A file
 * ----------
 */

/*
 * Give the file its name in the archive; false if it is not there, whole.
 * Commands of --pipe have taken it where it belongs.
 */
static bool
take_file(const TaskCollector *gather, const TaskAttempt *attempt, char *name,
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
report_rows(const TaskCollector *gather, const TaskLine *line, int task)
{
	Run		   *run = gather->run;

	run->results->worker = task;
	run_event_chunk_end(run, &run->plan->chunks->files[line->number],
						line->result.new_reason);
	run->results->worker = 0;
}

static void
take_rows(TaskCollector *gather, const TaskAttempt *attempt, const TaskLine *line)
{
	const DumpPlan *plan = gather->run->plan;
	const DataFile *file = &plan->chunks->files[line->number];

	if (!take_file(gather, attempt,
				   archive_name_rows(file->dump_id, plan->compress.method),
				   &line->result))
		return;
	store(&gather->run->results->files[line->number], line, attempt->task);
	report_rows(gather, line, attempt->task);
}

/* The OID of a large object by its number among those of all groups. */
static Oid
object_oid(const LargeObjects *objects, int number)
{
	const LargeObjectGroup *group = &objects->groups[large_objects_group_of(objects, number)];

	return group->oids[number - group->first_object];
}

static void
take_object(TaskCollector *gather, const TaskAttempt *attempt, const TaskLine *line)
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
find_result(const TaskCollector *gather, const TaskLine *line)
{
	const FileResults *results = gather->run->results;

	if (line->kind == TASK_LINE_FILE)
		return line->number < (uint64) results->n_files ?
			&results->files[line->number] : NULL;
	return line->number < (uint64) results->n_objects ?
		&results->objects[line->number] : NULL;
}

static bool
take_result(TaskCollector *gather, const TaskAttempt *attempt, const TaskLine *line)
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
take_refused(TaskCollector *gather, uint64 job)
{
	if (job >= (uint64) gather->run->plan->queue->n_jobs)
		return false;
	gather->refused[job] = true;
	return true;
}

/* Its first job, by task_deal(), is what it is shown to be at. */
static void
set_at_work(TaskCollector *gather, int task, bool at_work)
{
	gather->run->results->workers[task].job =
		at_work && task < gather->run->plan->queue->n_jobs ? task : -1;
}

/* A TaskLineCallback. */
static bool
task_collector_take_line(void *arg, const TaskAttempt *attempt, const TaskLine *line)
{
	TaskCollector *gather = arg;

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
TaskCollector *
task_collector_new(Run *run, const char *directory, const char *run_id)
{
	TaskCollector *gather = pg_malloc0(sizeof(TaskCollector));

	task_deal(run->plan->queue, (int) run->options->tasks);
	gather->run = run;
	gather->directory = directory;
	gather->refused = pg_malloc0((run->plan->queue->n_jobs + 1) * sizeof(bool));
	gather->attempts = task_attempts_new(directory, run_id,
										 (int) run->options->tasks,
										 task_collector_take_line, gather);
	return gather;
}

void
task_collector_look(TaskCollector *gather)
{
	task_attempts_look(gather->attempts);
}

void
task_collector_command_ended(TaskCollector *gather)
{
	for (int i = 0; i < (int) gather->run->options->tasks; i++)
		gather->run->results->workers[i].job = -1;
}

bool
task_collector_job_is_done(const TaskCollector *gather, int job_no)
{
	const Job  *job = &gather->run->plan->queue->jobs[job_no];
	const FileResult *result;

	for (int i = 0; (result = run_job_result(gather->run, job, i)) != NULL; i++)
		if (!result->done)
			return false;
	return true;
}

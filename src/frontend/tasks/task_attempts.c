/*
 * task_attempts.c
 *		Reads what attempts at tasks tell.
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "previous/lower_bound.h"
#include "tasks/task_attempts.h"
#include "tasks/task_place.h"

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

TaskAttempts *
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

void
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

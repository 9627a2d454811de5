/*
 * task_help.c
 *		Which jobs of others a task does that has done its own.
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <unistd.h>

#include "base/clock.h"
#include "dump_tasks/task_help.h"
#include "tasks/task_result.h"

/* A directory of many is not read for each job that is done. */
#define LISTING_MS 100

struct TaskHelp
{
	const char *directory;
	const char *archive;
	char	  **names;			/* in the directory, sorted */
	int			n;
	int			space;			/* names there is room for */
	int64		read_at;		/* clock_monotonic_ms() */
};

TaskHelp *
task_help_new(const char *directory, const char *archive)
{
	TaskHelp   *help = pg_malloc0(sizeof(TaskHelp));

	help->directory = directory;
	help->archive = archive;
	return help;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Without a directory the run is over, and nothing is wanted. */
static void
read_listing(TaskHelp *help)
{
	DIR		   *listing = opendir(help->directory);
	struct dirent *entry;

	while (help->n > 0)
		free(help->names[--help->n]);
	while (listing && (entry = readdir(listing)) != NULL)
	{
		if (help->n == help->space)
		{
			help->space = Max(64, help->space * 2);
			help->names = pg_realloc(help->names, help->space * sizeof(char *));
		}
		help->names[help->n++] = pg_strdup(entry->d_name);
	}
	if (listing)
		closedir(listing);
	qsort(help->names, help->n, sizeof(char *), compare_names);
	help->read_at = clock_monotonic_ms();
}

void
task_help_look(TaskHelp *help, bool may_be_old)
{
	if (!may_be_old || clock_monotonic_ms() - help->read_at > LISTING_MS)
		read_listing(help);
}

/* The first name that is not less. */
static int
find_name(const TaskHelp *help, const char *name)
{
	int			low = 0;
	int			high = help->n;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (strcmp(help->names[middle], name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
begins_with(const char *name, const char *begin)
{
	return strncmp(name, begin, strlen(begin)) == 0;
}

static bool
ends_with(const char *name, const char *end, size_t len)
{
	size_t		name_len = strlen(name);

	return name_len >= len && strncmp(name + name_len - len, end, len) == 0;
}

/* Files of the attempt of this name, each of which has it as its suffix. */
static int
count_files(const TaskHelp *help, const char *attempt, size_t len)
{
	int			n = 0;

	for (int i = 0; i < help->n; i++)
		if (strlen(help->names[i]) > len && ends_with(help->names[i], attempt, len))
			n++;
	return n;
}

int
task_help_at_work(const TaskHelp *help, int task)
{
	char	   *begin = psprintf("%d.", task);
	int			n = -1;

	for (int i = find_name(help, begin);
		 i < help->n && begins_with(help->names[i], begin); i++)
	{
		const char *name = help->names[i];
		size_t		suffix_len = strlen(TASK_RESULT_SUFFIX);

		if (ends_with(name, TASK_RESULT_SUFFIX, suffix_len))
			n = Max(n, 0) + count_files(help, name, strlen(name) - suffix_len);
	}
	free(begin);
	return n;
}

/* The archive is asked last: that is where files go from the directory. */
bool
task_help_is_begun(const TaskHelp *help, const char *name)
{
	char	   *begin = psprintf("%s.", name);
	char	   *path = psprintf("%s/%s", help->archive, name);
	int			place = find_name(help, begin);
	bool		begun = (place < help->n &&
						 begins_with(help->names[place], begin)) ||
		access(path, F_OK) == 0;

	free(begin);
	free(path);
	return begun;
}

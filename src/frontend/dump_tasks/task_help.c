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

/* Is there a name that begins, and ends, like this? */
static bool
is_listed(const TaskHelp *help, const char *begin, const char *end)
{
	for (int i = find_name(help, begin);
		 i < help->n && strncmp(help->names[i], begin, strlen(begin)) == 0; i++)
	{
		size_t		len = strlen(help->names[i]);

		if (len >= strlen(end) &&
			strcmp(help->names[i] + len - strlen(end), end) == 0)
			return true;
	}
	return false;
}

static bool
seems_wanted(const TaskHelp *help, int task, const char *name)
{
	char	   *attempt = psprintf("%d.", task);
	char	   *file = psprintf("%s.", name);
	bool		wanted = is_listed(help, attempt, TASK_RESULT_SUFFIX) &&
		!is_listed(help, file, "");

	free(attempt);
	free(file);
	return wanted;
}

/* The archive is asked last: that is where a file goes from the directory. */
bool
task_help_is_wanted(TaskHelp *help, int task, const char *name)
{
	char	   *path;
	bool		wanted;

	if (clock_monotonic_ms() - help->read_at > LISTING_MS)
		read_listing(help);
	if (!seems_wanted(help, task, name))
		return false;
	read_listing(help);
	path = psprintf("%s/%s", help->archive, name);
	wanted = seems_wanted(help, task, name) && access(path, F_OK) != 0;
	free(path);
	return wanted;
}

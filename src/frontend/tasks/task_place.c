/*
 * task_place.c
 *		The directory that a run's plan is in.
 */
#include "base/fe_compat.h"

#include <sys/stat.h>

#include "archive/archive_clean.h"
#include "archive/archive_name.h"
#include "base/cleanup.h"
#include "tasks/task_place.h"

/* An exit callback: an attempt that is at work yet finds nothing any more. */
static void
remove_place(void *arg)
{
	const TaskPlace *place = arg;

	archive_clean_tasks(place->directory);
}

TaskPlace *
task_place_make(const Options *options)
{
	TaskPlace  *place = pg_malloc0(sizeof(TaskPlace));
	struct stat st;
	struct stat archive;

	if (options->plan)
	{
		place->plan_path = make_absolute_path(options->plan);
		place->directory = pg_strdup(place->plan_path);
		get_parent_directory(place->directory);
	}
	else
	{
		char	   *archive = make_absolute_path(options->directory);

		place->directory = psprintf("%s/%s", archive, ARCHIVE_TASKS_NAME);
		place->plan_path = psprintf("%s/plan.json", place->directory);
		free(archive);
	}
	if (mkdir(place->directory, 0700) < 0)
		pg_fatal("could not create directory \"%s\": %m", place->directory);
	cleanup_push(remove_place, place);
	if (options->plan && options->directory &&
		stat(place->directory, &st) == 0 &&
		stat(options->directory, &archive) == 0 && st.st_dev != archive.st_dev)
		pg_fatal("the plan's directory \"%s\" is on another file system than the archive, into which files are renamed",
				 place->directory);
	return place;
}

void
task_place_remove(TaskPlace *place)
{
	cleanup_pop(remove_place, place);
	remove_place(place);
}

/*
 * task_place.c
 *		The directory that a run's plan is in.
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_clean.h"
#include "archive/archive_dir.h"
#include "base/interrupt.h"
#include "stream/regular_file.h"
#include "tasks/task_place.h"

/* An exit callback: an attempt that is at work yet finds nothing any more. */
static void
remove_place(void *arg)
{
	const TaskPlace *place = arg;

	archive_clean_directory(place->fd, place->directory);
}

TaskPlace *
task_place_make(const char *plan, const char *archive, const char *name)
{
	TaskPlace  *place = pg_malloc0(sizeof(TaskPlace));

	if (plan)
	{
		place->plan_path = make_absolute_path(plan);
		place->directory = pg_strdup(place->plan_path);
		get_parent_directory(place->directory);
	}
	else
	{
		char	   *path = make_absolute_path(archive);

		place->directory = psprintf("%s/%s", path, name);
		place->plan_path = psprintf("%s/plan.json", place->directory);
		free(path);
	}
	if (mkdir(place->directory, 0700) < 0)
	{
		pg_log_error("could not create directory \"%s\": %m", place->directory);
		pg_log_error_hint("--plan=FILE names a file in a new directory, for the plan.");
		exit(1);
	}
	place->fd = dirfd(archive_dir_open_empty(place->directory, true));
	cleanup_push(remove_place, place);
	return place;
}

void
task_place_remove(TaskPlace *place)
{
	cleanup_pop(remove_place, place);
	remove_place(place);
}

/* ----------
 * Files in it
 * ----------
 */
int
task_place_open(const char *path, const char **problem)
{
	struct stat st;
	int			fd = regular_file_open(AT_FDCWD, path, problem);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
		(st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return fd;
	*problem = st.st_uid != geteuid() ? "belongs to another user" :
		"can be written by other users";
	close(fd);
	errno = EPERM;
	return -1;
}

char *
task_place_read(int fd, const char *path, size_t *len)
{
	char	   *text = regular_file_read_text(fd, len);

	if (text == NULL)
		pg_fatal("could not read file \"%s\": %m", path);
	return text;
}

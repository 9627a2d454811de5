/*
 * task_place.h
 *		The directory that a run's plan is in, and what attempts at tasks
 *		leave there: in the archive's, or where --plan names the file.
 */
#ifndef TASK_PLACE_H
#define TASK_PLACE_H

#include "base/fe_compat.h"

typedef struct TaskPlace
{
	char	   *directory;
	int			fd;				/* open on it, as others may take its path */
	char	   *plan_path;		/* of the plan in it */
} TaskPlace;

/*
 * Make the directory, 0700: that of plan, the path of a file, or, if that is
 * NULL, one of this name in the directory of the archive.  When the program
 * ends, and with task_place_remove() before, it goes again with all that is
 * in it.
 */
extern TaskPlace *task_place_make(const char *plan, const char *archive,
								  const char *name);
extern void task_place_remove(TaskPlace *place);

/*
 * Open a file of the run for reading: a regular one, no link, that is this
 * user's and that no other user may write.  -1, and *problem, which is never
 * freed, if it is none; errno is ENOENT only if there is no such file.
 */
extern int	task_place_open(const char *path, const char **problem);

/* All of such a file, ended by a zero; owned. */
extern char *task_place_read(int fd, const char *path, size_t *len);

#endif							/* TASK_PLACE_H */

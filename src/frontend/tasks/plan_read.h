/*
 * plan_read.h
 *		Reads a plan's file, and takes no other user's.
 */
#ifndef PLAN_READ_H
#define PLAN_READ_H

#include "tasks/task_plan.h"

/*
 * Open a file of the run for reading: a regular one, no link, that is this
 * user's and that nobody else may write.  -1, and *problem, which is never
 * freed, if it is none; errno is ENOENT only if there is no such file.
 */
extern int	plan_read_open(const char *path, const char **problem);

/* All of such a file, ended by a zero; owned. */
extern char *plan_read_text(int fd, const char *path, size_t *len);

/*
 * Read the plan.  Exits with a message if the file is not the user's own, is
 * damaged, or was written by another version of the program.
 */
extern TaskPlan *plan_read(const char *path);

#endif							/* PLAN_READ_H */

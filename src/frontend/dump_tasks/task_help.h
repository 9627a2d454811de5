/*
 * task_help.h
 *		Which jobs of others a task does that has done its own.
 *
 * Shares are even by bytes; hosts are not equally fast, and some fail.  So a
 * task goes on with jobs that no attempt has begun, of tasks that have: tasks
 * that a scheduler has yet to place may be meant to be short.  What has begun
 * is seen by the files that attempts have made so far, beside the plan.  Of
 * two that begin a job at the same moment, the leader takes what the first
 * tells.
 */
#ifndef TASK_HELP_H
#define TASK_HELP_H

#include "base/fe_compat.h"

/*
 * Of so many jobs at most a task asks, the last first: of a run with many
 * more the last ones are single chunks of all tasks.
 */
#define MOST_HELPED 1000

typedef struct TaskHelp TaskHelp;

/* Of the tasks whose plan is in this directory, and archive in the other. */
extern TaskHelp *task_help_new(const char *directory, const char *archive);

/*
 * Has this task begun, and nobody the job, whose first file has this name in
 * the archive?
 */
extern bool task_help_is_wanted(TaskHelp *help, int task, const char *name);

#endif							/* TASK_HELP_H */

/*
 * task_help.h
 *		Which jobs of others a task does that has done its own.
 *
 * Shares are even by bytes; hosts are not equally fast, and some fail.  So a
 * task goes on with jobs that no attempt has begun, of tasks that have: tasks
 * that a scheduler has yet to place may be meant to be short.  It takes them
 * from the end, and leaves each worker of the other task one more, as that
 * task does not look: it would do the last one at the same time, in vain.
 * What is begun is seen by the files that attempts have made so far, beside
 * the plan.  Of two that do a job the leader takes what the first tells.
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

/* What follows is as of now; or, if it may be old, of a moment ago. */
extern void task_help_look(TaskHelp *help, bool may_be_old);

/* With how many files attempts at this task are; -1 if there is none. */
extern int	task_help_at_work(const TaskHelp *help, int task);

/* Has anybody begun the file that has this name in the archive? */
extern bool task_help_is_begun(const TaskHelp *help, const char *name);

#endif							/* TASK_HELP_H */

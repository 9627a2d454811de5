/*
 * copy_task.h
 *		One task of a copy by many hosts (copy_task_plan.h).
 */
#ifndef COPY_TASK_H
#define COPY_TASK_H

#include "options/options.h"

/*
 * Do the task that --task names, by the plan of --plan.  Returns when all its
 * rows are on the target, by whatever attempt, or the leader has been told
 * which are for itself to copy.  Exits with a message: with WORKER_EXIT_RETRY
 * if a server could not be reached, or was lost, so that another attempt may
 * succeed; with 1 if none can.
 */
extern void copy_task(const Options *options);

#endif							/* COPY_TASK_H */

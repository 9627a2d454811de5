/*
 * restore_task.h
 *		One task of a restore by many hosts
 *		(restore_tasks/restore_task_plan.h).
 */
#ifndef RESTORE_TASK_H
#define RESTORE_TASK_H

#include "options/options.h"

/*
 * Do the task that --task names, by the plan of --plan.  Returns when all its
 * rows are on the target, by whatever attempt, or the leader has been told
 * which cannot be loaded.  Exits with a message: with WORKER_EXIT_RETRY if
 * the server could not be reached, or was lost, so that another attempt may
 * succeed; with 1 if none can.
 */
extern void restore_task(const Options *options);

#endif							/* RESTORE_TASK_H */

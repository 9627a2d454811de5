/*
 * dump_task.h
 *		One task of a dump by many hosts (tasks/task_plan.h).
 */
#ifndef DUMP_TASK_H
#define DUMP_TASK_H

#include "options/options.h"

/*
 * Do the task that --task names, by the plan of --plan.  Returns when all its
 * files are made, or others have made them.  Exits with a message: with
 * WORKER_EXIT_RETRY if the server could not be reached, or was lost, so that
 * another attempt may succeed; with 1 if none can.
 */
extern void dump_task(const Options *options);

#endif							/* DUMP_TASK_H */

/*
 * task_plan_write.h
 *		Writes the plan of a dump for its tasks.
 */
#ifndef TASK_PLAN_WRITE_H
#define TASK_PLAN_WRITE_H

#include "source/source.h"
#include "tasks/task_plan.h"

/*
 * Write the plan of this run at path, as task_plan_write_file() does.  The
 * sessions of the leader at further standbys hold the lock of the run from
 * now on.
 */
extern void task_plan_write(const char *path, const Source *source,
							const DumpPlan *plan, const char *run_id);

#endif							/* TASK_PLAN_WRITE_H */

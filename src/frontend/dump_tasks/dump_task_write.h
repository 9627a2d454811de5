/*
 * dump_task_write.h
 *		Writes what tasks are to read.
 */
#ifndef DUMP_TASK_WRITE_H
#define DUMP_TASK_WRITE_H

#include "dump_tasks/dump_task_plan.h"
#include "source/source.h"
#include "tasks/plan_write.h"

/*
 * Write the plan of this run at path, as plan_write_begin() has it, but for
 * its end: a copy's has more.  what is TASKS_DUMP or TASKS_COPY.  The
 * sessions of the leader at further standbys hold the lock of the run from
 * now on.
 */
extern void dump_task_write_begin(PlanWriter *writer, const char *path,
								  const char *what, const Source *source,
								  const DumpPlan *plan, const char *run_id);

#endif							/* DUMP_TASK_WRITE_H */

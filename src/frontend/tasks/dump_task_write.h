/*
 * dump_task_write.h
 *		Writes what tasks are to read.
 */
#ifndef DUMP_TASK_WRITE_H
#define DUMP_TASK_WRITE_H

#include "tasks/dump_task_plan.h"
#include "source/source.h"

/*
 * Write the plan of this run at path, as plan_write_begin() has it.  The
 * sessions of the leader at further standbys hold the lock of the run from
 * now on.
 */
extern void dump_task_write(const char *path, const Source *source,
							const DumpPlan *plan, const char *run_id);

#endif							/* DUMP_TASK_WRITE_H */

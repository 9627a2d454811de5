/*
 * dump_task_write.h
 *		Writes the plan of a dump for tasks.
 */
#ifndef DUMP_TASK_WRITE_H
#define DUMP_TASK_WRITE_H

#include "dump_tasks/dump_task_plan.h"

/* Write the file at path, as plan_write_begin() has it. */
extern void dump_task_write(const char *path, const DumpTaskHead *head,
							const PlannedStandby *standbys, int n_standbys,
							const DumpPlan *plan);

#endif							/* DUMP_TASK_WRITE_H */

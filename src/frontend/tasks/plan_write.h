/*
 * plan_write.h
 *		Writes a plan's file.
 */
#ifndef PLAN_WRITE_H
#define PLAN_WRITE_H

#include "tasks/task_plan.h"

/*
 * Write the file at path, which must not exist, and gets its name when it is
 * whole and flushed.  Exits with a message on failure.
 */
extern void plan_write(const char *path, const TaskPlanHead *head,
					   const DumpPlan *plan);

#endif							/* PLAN_WRITE_H */

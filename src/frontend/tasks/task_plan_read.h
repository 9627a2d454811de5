/*
 * task_plan_read.h
 *		Reads the plan of a dump in a task.
 */
#ifndef TASK_PLAN_READ_H
#define TASK_PLAN_READ_H

#include "tasks/task_plan.h"

typedef struct DumpTaskPlan
{
	DumpTaskHead head;
	PlannedStandby *standbys;
	int			n_standbys;
	DumpPlan	plan;			/* without tables of contents */
} DumpTaskPlan;

/*
 * Read the plan.  Exits with a message if the file is not the user's own, is
 * damaged, or was written by another version of the program, or for something
 * else than a dump.
 */
extern DumpTaskPlan *task_plan_read(const char *path);

#endif							/* TASK_PLAN_READ_H */

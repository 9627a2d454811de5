/*
 * dump_task_read.h
 *		Reads what tasks are to read.
 */
#ifndef DUMP_TASK_READ_H
#define DUMP_TASK_READ_H

#include "tasks/dump_task_plan.h"

/*
 * Read the plan.  Exits with a message if the file is not the user's own, is
 * damaged, or was written by another version of the program, or for something
 * else than a dump.
 */
extern DumpTaskPlan *dump_task_read(const char *path);

#endif							/* DUMP_TASK_READ_H */

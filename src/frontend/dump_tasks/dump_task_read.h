/*
 * dump_task_read.h
 *		Reads what tasks are to read.
 */
#ifndef DUMP_TASK_READ_H
#define DUMP_TASK_READ_H

#include "dump_tasks/dump_task_plan.h"
#include "tasks/plan_read.h"

/* What else a plan has: a copy's. */
typedef struct DumpTaskMore
{
	void	   *arg;

	/* Read the value of a member, or return false. */
	bool		(*read) (void *arg, PlanReader *reader, const char *key);

	/* All is read: put it to use, and note what is wrong. */
	void		(*finish) (void *arg, PlanReader *reader, DumpTaskPlan *plan);
} DumpTaskMore;

/*
 * Read the plan; more may be NULL.  Exits with a message if the file is not
 * the user's own, is damaged, was written by another version of the program,
 * or for something else than what is to be done (TASKS_DUMP, TASKS_COPY).
 */
extern DumpTaskPlan *dump_task_read(const char *path, const char *what,
									const DumpTaskMore *more);

#endif							/* DUMP_TASK_READ_H */

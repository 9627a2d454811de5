/*
 * task_place.h
 *		The directory that a run's plan is in, and what attempts at tasks
 *		leave there: in the archive's, or where --plan names the file.
 */
#ifndef TASK_PLACE_H
#define TASK_PLACE_H

#include "base/fe_compat.h"

#include "options/options.h"

typedef struct TaskPlace
{
	char	   *directory;
	char	   *plan_path;		/* of the plan in it */
} TaskPlace;

/*
 * Make the directory, 0700.  When the program ends, and with
 * task_place_remove() before, it goes again with all that is in it.
 */
extern TaskPlace *task_place_make(const Options *options);
extern void task_place_remove(TaskPlace *place);

#endif							/* TASK_PLACE_H */

/*
 * dump_task_gather.h
 *		In the leader of a dump: takes what attempts at tasks have made, whose
 *		files get their names in the archive here.
 */
#ifndef DUMP_TASK_GATHER_H
#define DUMP_TASK_GATHER_H

#include "tasks/task_gather.h"

/*
 * directory is that of the plan of this run.  A file that an attempt tells
 * of, but that is not there as it tells, is missed with a warning; another
 * attempt may have it.
 */
extern TaskGather *dump_task_gather_new(Run *run, const char *directory,
										const char *run_id);

#endif							/* DUMP_TASK_GATHER_H */

/*
 * copy_task_gather.h
 *		In the leader of a copy: takes what attempts at tasks have told, and
 *		what the log says.
 */
#ifndef COPY_TASK_GATHER_H
#define COPY_TASK_GATHER_H

#include "job_log/job_log.h"
#include "tasks/task_gather.h"

/* directory is that of the plan of this run. */
extern TaskGather *copy_task_gather_new(Run *run, const char *directory,
										const char *run_id);

/*
 * The command has ended, and these are the log's lines by now: they alone
 * decide what is done.
 */
extern void copy_task_gather_settle(const TaskGather *gather,
									const JobLog *now);

#endif							/* COPY_TASK_GATHER_H */

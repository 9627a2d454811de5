/*
 * task_gather.h
 *		In the leader: what attempts at tasks have told so far
 *		(task_result.h), and their files, which get their names here.
 */
#ifndef TASK_GATHER_H
#define TASK_GATHER_H

#include "status/run.h"

typedef struct TaskGather TaskGather;

/* directory is that of the plan of this run. */
extern TaskGather *task_gather_new(Run *run, const char *directory,
								   const char *run_id);

/*
 * Take what is new.  A file that an attempt tells of, but that is not there
 * as it tells, is missed with a warning; another attempt may have it.
 */
extern void task_gather_look(TaskGather *gather);

/* An attempt that began and has not ended in order, or NULL. */
extern const char *task_gather_not_ended(const TaskGather *gather);

/* The command has ended: no task is at work any more, for the progress. */
extern void task_gather_command_ended(TaskGather *gather);

/* Are all files of a job in the archive?  Could no task lock its tables? */
extern bool task_gather_job_is_done(const TaskGather *gather, int job);
extern bool task_gather_job_is_refused(const TaskGather *gather, int job);

#endif							/* TASK_GATHER_H */

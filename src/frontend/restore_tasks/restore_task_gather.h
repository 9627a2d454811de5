/*
 * restore_task_gather.h
 *		In the leader of a restore: what attempts at tasks have told so far,
 *		and what the log says.
 */
#ifndef RESTORE_TASK_GATHER_H
#define RESTORE_TASK_GATHER_H

#include "restore_tasks/restore_task_work.h"

typedef struct RestoreTaskGather RestoreTaskGather;

/* directory is that of the plan of this run. */
extern RestoreTaskGather *restore_task_gather_new(const RestoreTaskWork *work,
												  const char *directory,
												  const char *run_id);

/* These are the jobs of the run's queue that tasks have now. */
extern void restore_task_gather_begin(RestoreTaskGather *gather,
									  const int *jobs, int n_jobs);

/* Take what is new. */
extern void restore_task_gather_look(RestoreTaskGather *gather);

/*
 * Is there anything by these lines of the log that an attempt could not load,
 * and another one might, that is at work?
 */
extern bool restore_task_gather_is_in_doubt(const RestoreTaskGather *gather,
											const JobLog *now);

/*
 * The command has ended, and these are the log's lines by now: they decide.
 * What an attempt could not load, and none has loaded, is told, and left out.
 */
extern void restore_task_gather_settle(RestoreTaskGather *gather,
									   const JobLog *now);

/* Is all of a job of the run's queue done, or left out? */
extern bool restore_task_gather_is_done(const RestoreTaskGather *gather,
										const Job *job);

#endif							/* RESTORE_TASK_GATHER_H */

/*
 * restore_task_gather.h
 *		In the leader of a restore: what attempts at tasks have told so far,
 *		and what the log says.
 */
#ifndef RESTORE_TASK_GATHER_H
#define RESTORE_TASK_GATHER_H

#include "restore_tasks/restore_task_work.h"
#include "tasks/task_gather.h"

typedef struct RestoreTaskGather
{
	TaskGather	base;			/* first: its callback has it */
	const RestoreTaskWork *work;
	bool	   *failed;			/* by data file: by an attempt */
	bool	   *objects_failed; /* by group of large objects: the same */
} RestoreTaskGather;

/*
 * directory is that of the plan of this run.  Which jobs tasks have is for
 * the caller to set.
 */
extern RestoreTaskGather *restore_task_gather_new(const RestoreTaskWork *work,
												  const char *directory,
												  const char *run_id);

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

#endif							/* RESTORE_TASK_GATHER_H */

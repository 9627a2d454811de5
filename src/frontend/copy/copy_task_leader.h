/*
 * copy_task_leader.h
 *		The leader of a copy by tasks: has a command of the user's run them,
 *		wherever that is, until all rows are on the target.
 *
 * What is done is what the log on the target says (job_log/job_log.h): a task
 * writes the line of a job in the transaction that loads its rows.  What
 * attempts tell in files beside the plan is for what goes on meanwhile:
 * progress, and indexes.
 */
#ifndef COPY_TASK_LEADER_H
#define COPY_TASK_LEADER_H

#include "copy/copy_format.h"
#include "job_log/job_log.h"
#include "process/worker_task.h"
#include "source/source.h"
#include "status/run.h"
#include "tasks/task_place.h"

/* What is settled when tasks are to copy the rows. */
typedef struct CopyTasks
{
	Source	   *source;
	Target	   *target;
	Run		   *run;
	const CopyFormats *formats;
	JobLog	   *log;
	TaskPlace  *place;
} CopyTasks;

/*
 * Have all jobs of the run's plan done by --tasks, as --run-tasks starts
 * them, in the snapshot of the leader's session, which is kept meanwhile;
 * those that come back undone again, up to --retries times.  What no task can
 * lock is done here by own.  Returns when all rows are on the target, and the
 * leader's transaction has ended well, unless the snapshot is to be kept;
 * exits with a message that names what is missing else.
 */
extern void copy_task_leader_run(const CopyTasks *tasks, const WorkerTask *own);

#endif							/* COPY_TASK_LEADER_H */

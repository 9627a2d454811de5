/*
 * copy_task_gather.h
 *		In the leader of a copy: what attempts at tasks have told so far, and
 *		what the log says.
 */
#ifndef COPY_TASK_GATHER_H
#define COPY_TASK_GATHER_H

#include "job_log/job_log.h"
#include "status/run.h"

typedef struct CopyTaskGather CopyTaskGather;

/* directory is that of the plan of this run. */
extern CopyTaskGather *copy_task_gather_new(Run *run, const char *directory,
											const char *run_id);

/* Take what is new. */
extern void copy_task_gather_look(CopyTaskGather *gather);

/*
 * The command has ended, and these are the log's lines by now: they alone
 * decide what is done.
 */
extern void copy_task_gather_settle(CopyTaskGather *gather, const JobLog *now);

/* Has a job all its rows there?  Could no task lock its tables? */
extern bool copy_task_gather_job_is_done(const CopyTaskGather *gather, int job);
extern bool copy_task_gather_job_is_refused(const CopyTaskGather *gather,
											int job);

#endif							/* COPY_TASK_GATHER_H */

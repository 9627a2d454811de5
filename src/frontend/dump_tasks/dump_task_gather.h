/*
 * dump_task_gather.h
 *		In the leader of a dump: what attempts at tasks have told so far, and
 *		their files, which get their names here.
 */
#ifndef DUMP_TASK_GATHER_H
#define DUMP_TASK_GATHER_H

#include "status/run.h"

typedef struct DumpTaskGather DumpTaskGather;

/* directory is that of the plan of this run. */
extern DumpTaskGather *dump_task_gather_new(Run *run, const char *directory,
											const char *run_id);

/*
 * Take what is new.  A file that an attempt tells of, but that is not there
 * as it tells, is missed with a warning; another attempt may have it.
 */
extern void dump_task_gather_look(DumpTaskGather *gather);

/* An attempt that began and has not ended in order, or NULL. */
extern const char *dump_task_gather_not_ended(const DumpTaskGather *gather);

/* The command has ended: no task is at work any more, for the progress. */
extern void dump_task_gather_command_ended(DumpTaskGather *gather);

/* Are all files of a job in the archive?  Could no task lock its tables? */
extern bool dump_task_gather_job_is_done(const DumpTaskGather *gather, int job);
extern bool dump_task_gather_job_is_refused(const DumpTaskGather *gather, int job);

#endif							/* DUMP_TASK_GATHER_H */

/*
 * restore_worker.h
 *		What a worker of a restore does with a job.
 */
#ifndef RESTORE_WORKER_H
#define RESTORE_WORKER_H

#include "archive/archive_open.h"
#include "job_log/job_log.h"
#include "plan/archive_plan.h"
#include "restore/restore_long.h"
#include "restore/restore_pieces.h"
#include "status/run.h"
#include "target/target.h"

/*
 * What workers are given: settled before they start, the same for all; what
 * they write to is in memory that they share.
 */
typedef struct RestoreWork
{
	const Archive *archive;
	const ArchivePlan *plan;	/* the run's, too */
	const Target *target;
	const Run  *run;
	const JobLog *log;			/* NULL until it is open */
	TargetCommit *commits;		/* by job */
	const bool *fresh;			/* by table: see restore_freeze_choose() */
	const Oid  *targets;		/* the tables that rows go to, as
								 * target_find_tables() has found them */
	SharedRows **shared;		/* by data file: of those that jobs share;
								 * else NULL */
	volatile bool *left_out;	/* by data file: it is not, or cannot be
								 * loaded, or is done */
	const LongFiles *long_files;
	volatile bool *has_failed;	/* by data file: a piece of it has */
	volatile bool *objects_left_out;	/* by group of large objects */
	volatile int *n_errors;		/* that are told, and no reason to end */
} RestoreWork;

typedef struct RestoreWorker RestoreWorker;

/* Connect to the target, as worker number no. */
extern RestoreWorker *restore_worker_start(const RestoreWork *work, int no);

/*
 * Do a job in one transaction of the target, unless a worker that was lost
 * has done it.  A file that cannot be loaded whole is an error, which ends
 * the process with --exit-on-error, else it is counted, and the rest of the
 * job done without it.  *step: see worker_process.h.
 */
extern void restore_worker_run(RestoreWorker *worker, int job,
							   volatile int *step);

/* Close the connection, and free it. */
extern void restore_worker_stop(RestoreWorker *worker);

#endif							/* RESTORE_WORKER_H */

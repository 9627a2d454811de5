/*
 * restore_pool.h
 *		The workers of a restore, and what its leader does for them.
 */
#ifndef RESTORE_POOL_H
#define RESTORE_POOL_H

#include "process/worker_pool.h"
#include "restore/restore_worker.h"

/*
 * Of a task: what else it does meanwhile; with a file that workers have
 * shared, of whose pieces the log has lines, and is to have one of all of it;
 * and with a job that is done, whose results are done but for files that are
 * left to all workers for later.  A worker that is lost for good ends the
 * program with WORKER_EXIT_RETRY.
 */
typedef struct RestorePoolUse
{
	PoolWatch	watch;
	void		(*note) (void *arg, const DataFile *file);
	void		(*done) (void *arg, const Run *run, const Job *job);
} RestorePoolUse;

/*
 * Do all jobs of the run's plan, wave by wave, while progress is shown; run
 * is the work's, whose retries are counted.  What workers share for each job
 * is made here.  use is NULL but in a task.
 */
extern void restore_pool_run(RestoreWork *work, Run *run,
							 const RestorePoolUse *use);

#endif							/* RESTORE_POOL_H */

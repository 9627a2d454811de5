/*
 * restore_pool.h
 *		The workers of a restore, and what its leader does for them.
 */
#ifndef RESTORE_POOL_H
#define RESTORE_POOL_H

#include "restore/restore_worker.h"

/*
 * Do all jobs of the run's plan, wave by wave, while progress is shown; run
 * is the work's, whose retries are counted.  What workers share for each job
 * is made here.
 */
extern void restore_pool_run(RestoreWork *work, Run *run);

#endif							/* RESTORE_POOL_H */

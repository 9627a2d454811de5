/*
 * copy_worker.h
 *		What a worker of a direct copy does with a job.
 */
#ifndef COPY_WORKER_H
#define COPY_WORKER_H

#include "copy/copy_format.h"
#include "source/source.h"
#include "status/run.h"

/*
 * What workers are given: settled before they start, the same for all.
 * Results of files are done when they are committed; raw and stored bytes are
 * what crossed, in the format of each table.
 */
typedef struct CopyWork
{
	const Source *source;
	const Target *target;
	const Run  *run;
	const CopyFormats *formats;
	TargetCommit *commits;		/* by job */
} CopyWork;

typedef struct CopyWorker CopyWorker;

/*
 * Connect to both servers, as worker number no, which may be
 * WORKER_IS_LEADER.
 */
extern CopyWorker *copy_worker_start(const CopyWork *work, int no);

/*
 * Do a job in one transaction of the target, unless a worker that was lost
 * has done it.  Exits with a message if anything fails; then the target has
 * nothing of it.  *step: see worker_process.h.  False if nothing was done, as
 * its tables could not be locked on the source.
 */
extern bool copy_worker_run(CopyWorker *worker, int job, volatile int *step);

/* Close both connections, and free it. */
extern void copy_worker_stop(CopyWorker *worker);

#endif							/* COPY_WORKER_H */

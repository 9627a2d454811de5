/*
 * copy_worker.h
 *		What a worker of a direct copy does with a job.
 */
#ifndef COPY_WORKER_H
#define COPY_WORKER_H

#include "copy/copy_format.h"
#include "source/source.h"
#include "status/run.h"

typedef struct CopyWorker CopyWorker;

/*
 * What workers are given: settled before they start, the same for all; the
 * arg of the pool's callbacks, or at the begin of it.  Results of files are
 * done when they are committed; raw and stored bytes are what crossed, in the
 * format of each table.
 */
typedef struct CopyWork
{
	const Source *source;
	const Target *target;
	const Run  *run;
	const CopyFormats *formats;
	TargetCommit *commits;		/* by job */
	CopyWorker *worker;			/* in a worker: itself */
} CopyWork;

/*
 * The pool's task.  Workers connect to both servers.  Each job is one
 * transaction of the target, unless a worker that was lost has done it; the
 * process exits with a message if anything fails, and then the target has
 * nothing of the job.  A job is refused if its tables could not be locked on
 * the source.  The caller adds what else the pool needs.
 */
extern WorkerTask copy_worker_task(CopyWork *work);

#endif							/* COPY_WORKER_H */

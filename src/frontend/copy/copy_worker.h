/*
 * copy_worker.h
 *		The workers of a direct copy: each does jobs in sessions on both
 *		servers.  copy.c starts them.
 */
#ifndef COPY_WORKER_H
#define COPY_WORKER_H

#include "copy/copy_format.h"
#include "source/source.h"
#include "status/run.h"

typedef struct CopyWorker CopyWorker;

/*
 * The arguments of all workers, set before they start.  This is the arg of
 * the pool's callbacks, or the first member of that.  Results of files are
 * set as done when their transaction is committed; their raw and stored bytes
 * are those that were transferred, in the format of each table.
 */
typedef struct CopyWork
{
	const Source *source;
	const Target *target;
	const Run  *run;
	const CopyFormats *formats;
	TargetCommit *commits;		/* by job */
	CopyWorker *worker;			/* in a worker's process */
} CopyWork;

/*
 * Returns the callbacks for the pool.  Workers connect to both servers.  Each
 * job is one transaction on the target, unless a lost worker has already done
 * it.  If anything fails, the process exits with a message, and the target
 * contains nothing of the job.  A job is refused if its tables could not be
 * locked on the source.  The caller adds further callbacks.
 */
extern WorkerTask copy_worker_task(CopyWork *work);

#endif							/* COPY_WORKER_H */

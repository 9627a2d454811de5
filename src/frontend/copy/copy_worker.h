/*
 * copy_worker.h
 *		What a worker of a direct copy does with a job.
 */
#ifndef COPY_WORKER_H
#define COPY_WORKER_H

#include "copy/copy_format.h"
#include "plan/dump_context.h"

/*
 * How far a job's transaction on the target is.  Lives in memory that all
 * workers share; only the one that has the job writes to it.
 */
typedef enum CopyState
{
	COPY_STATE_PENDING = 0,
	COPY_STATE_COMMITTING,		/* COMMIT was, or is about to be, sent */
	COPY_STATE_DONE				/* and was answered */
} CopyState;

typedef struct CopyCommit
{
	volatile CopyState state;
	uint64		xid;			/* of the transaction */
} CopyCommit;

/*
 * What a copy is: settled before the workers start, the same for all.
 * Results of files are done when they are committed; raw and stored bytes are
 * what crossed, in COPY's format.
 */
typedef struct CopyContext
{
	DumpContext source;
	const PeerAddress *target;
	const char *incarnation;	/* of the target, see TARGET_INCARNATION_SQL */
	const char *history;		/* the same, see target_history() */
	const CopyFormat *formats;	/* by table */
	CopyCommit *commits;		/* by job */
} CopyContext;

/*
 * Are all rows of a table committed?  Takes a CopyContext, see
 * IndexPlan.is_loaded.
 */
extern bool copy_worker_has_loaded(const void *context, int table);

typedef struct CopyWorker CopyWorker;

/* Connect to both servers, as worker number no. */
extern CopyWorker *copy_worker_start(const CopyContext *context, int no);

/* In the leader: the same by its own session on the source. */
extern CopyWorker *copy_worker_borrow(const CopyContext *context);

/*
 * Do a job in one transaction of the target, unless a worker that was lost
 * has done it.  Exits with a message if anything fails; then the target has
 * nothing of it.  *step: see worker_pool.h.  False if nothing was done, as
 * its tables could not be locked on the source.
 */
extern bool copy_worker_run(CopyWorker *worker, int job, volatile int *step);

extern void copy_worker_stop(CopyWorker *worker);

#endif							/* COPY_WORKER_H */

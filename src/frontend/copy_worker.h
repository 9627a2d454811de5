/*
 * copy_worker.h
 *		What a worker of a direct copy does with a job.
 */
#ifndef COPY_WORKER_H
#define COPY_WORKER_H

#include "copy_format.h"
#include "dump_worker.h"

/*
 * How far one data file, or group of large objects, is.  Lives in memory that
 * leader, workers and index builder share; only the worker that has the job
 * writes to it.
 */
typedef enum CopyState
{
	COPY_STATE_PENDING = 0,
	COPY_STATE_COMMITTING,		/* COMMIT was, or is about to be, sent */
	COPY_STATE_DONE				/* and was answered */
} CopyState;

typedef struct CopyProgress
{
	volatile CopyState state;
	uint64		xid;			/* of the target's transaction */
	uint64		rows;
	uint64		bytes;			/* that crossed, in COPY's format */
} CopyProgress;

/* What a copy is: settled before the workers start, the same for all. */
typedef struct CopyContext
{
	DumpContext source;
	const PeerAddress *target;
	const char *incarnation;	/* of the target, see COPY_INCARNATION_SQL */
	const CopyFormat *formats;	/* by table */
	CopyProgress *files;		/* by ChunkPlan.files */
	CopyProgress *objects;		/* by group of large objects */
} CopyContext;

/*
 * An expression that has another value after the server was started again, and
 * after it recovered from a crash of its own, when statistics are reset.
 */
#define COPY_INCARNATION_SQL \
"pg_catalog.concat_ws(' ', pg_catalog.pg_postmaster_start_time()," \
" pg_catalog.pg_stat_get_bgwriter_stat_reset_time())"

typedef struct CopyWorker CopyWorker;

/* Connect to both servers, as worker number no. */
extern CopyWorker *copy_worker_start(const CopyContext *context, int no);

/*
 * Do a job in one transaction of the target, unless a worker that was lost has
 * done it.  Exits with a message if anything fails; then the target has nothing
 * of it.  *step: see worker_pool.h.
 */
extern void copy_worker_run(CopyWorker *worker, int job, volatile int *step);

extern void copy_worker_stop(CopyWorker *worker);

#endif							/* COPY_WORKER_H */

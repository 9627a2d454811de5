/*
 * dump_worker.h
 *		What a worker of a dump does with a job.
 */
#ifndef DUMP_WORKER_H
#define DUMP_WORKER_H

#include "connection.h"
#include "dump_origin.h"
#include "file_result.h"
#include "job_queue.h"
#include "leader_session.h"
#include "logical_slot.h"

/* What a dump is: settled before the workers start, the same for all. */
typedef struct DumpContext
{
	const Options *options;
	const PeerAddress *address;
	const LogicalSlot *slot;	/* that goes with the snapshot; NULL without */
	const char *snapshot;		/* as first exported; workers ask leader */
	LeaderSession *leader;		/* once workers are to start */
	const DumpOrigin *origin;
	const char *encoding;		/* of the archive */
	int			lock_wait_ms;
	CompressSpec compress;
	char	   *compression;	/* the same for the server that is to do it;
								 * NULL if the workers are */
	const char *directory;
	const DumpTables *tables;
	const ServerExtension *extension;	/* NULL without */
	const LargeObjects *objects;
	const ChunkPlan *plan;
	const JobQueue *queue;
	FileResults *results;		/* workers fill it */
} DumpContext;

typedef struct DumpWorker DumpWorker;

/*
 * Connect, and import the snapshot, as worker number no.  Exits with a message
 * on failure.
 */
extern DumpWorker *dump_worker_start(const DumpContext *context, int no);

/*
 * Do a job: all its files are complete (not flushed) afterwards, and their
 * results are set, or exit.  *step is the data file of the job that is being dumped, from 0.
 */
extern void dump_worker_run(DumpWorker *worker, int job_no,
							volatile int *step);

/*
 * In the leader: a worker that did this job is gone.  Remove the files that it
 * made, so that another one can do it.
 */
extern void dump_worker_reset(const DumpContext *context, int job);

/* Disconnect. */
extern void dump_worker_stop(DumpWorker *worker);

#endif							/* DUMP_WORKER_H */

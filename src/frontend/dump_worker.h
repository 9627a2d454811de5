/*
 * dump_worker.h
 *		What a worker of a dump does with a job.
 */
#ifndef DUMP_WORKER_H
#define DUMP_WORKER_H

#include "connection.h"
#include "job_queue.h"

/* What a dump is: settled before the workers start, the same for all. */
typedef struct DumpContext
{
	const Options *options;
	const PeerAddress *address;
	const char *snapshot;
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
} DumpContext;

/* Of one job; they add up. */
typedef struct DumpResult
{
	uint64		rows;
	uint64		raw_bytes;		/* before compression */
	uint64		stored_bytes;	/* in the files */
} DumpResult;

typedef struct DumpWorker DumpWorker;

/* Connect, and import the snapshot.  Exits with a message on failure. */
extern DumpWorker *dump_worker_start(const DumpContext *context);

/*
 * Do a job: all its files are complete (not flushed) afterwards, or exit.
 * *step is the data file of the job that is being dumped, from 0.
 */
extern void dump_worker_run(DumpWorker *worker, const Job *job,
							volatile int *step, DumpResult *result);

/* Disconnect. */
extern void dump_worker_stop(DumpWorker *worker);

#endif							/* DUMP_WORKER_H */

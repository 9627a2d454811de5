/*
 * dump_worker.h
 *		What a worker of a dump does with a job.
 */
#ifndef DUMP_WORKER_H
#define DUMP_WORKER_H

#include "dump/reuse_file.h"
#include "source/source.h"

/* ----------
 * The files of large objects in an archive, and the lists of them.
 * ----------
 */

/*
 * In the leader: write the lists, which are never compressed
 * (pg_backup_directory.c:_EndLO), and set their results.
 */
extern void large_object_lists_write(const LargeObjects *objects,
									 const ArchiveDir *archive,
									 FileResults *results);

typedef struct DumpWorker DumpWorker;

/* What leader and workers of a pool know: the arg of its callbacks. */
typedef struct DumpPool
{
	Source		source;
	Run			run;
	Reuse	   *reuse;			/* of the previous archive's files; NULL = all
								 * is dumped */
	int		   *jobs;			/* of the queue, by the pool's number; NULL =
								 * all, in the queue's order */
	DumpWorker *worker;			/* in a worker: itself */
} DumpPool;

/*
 * The pool's task: its workers connect, import the snapshot, and do jobs.
 * The caller adds what else it needs, above all reset().
 */
extern WorkerTask dump_worker_task(DumpPool *pool);

/*
 * Its run().  All files of the job are complete (not flushed) afterwards, and
 * their results are set, or exit.  *step is the data file of the job that is
 * being dumped, from 0.  False if nothing was done, as its tables could not
 * be locked.
 */
extern bool dump_worker_run_job(void *pool, int no, volatile int *step);

/*
 * Of a job's files the name in the archive of the one with this number, from
 * 0, as run_job_result() has its result; owned.  NULL after the last.
 */
extern char *dump_worker_file_name(const Run *run, const Job *job, int i);

/*
 * In the leader: a worker that did this job is gone.  Remove the files that
 * it made, so that another one can do it.
 */
extern void dump_worker_reset(const Run *run, int job);

#endif							/* DUMP_WORKER_H */

/*
 * dump_worker.h
 *		The workers of a dump, which do the jobs of the plan.  dump.c uses
 *		them on the leader's host, and dump_task.c in the tasks of a
 *		distributed dump.
 */
#ifndef DUMP_WORKER_H
#define DUMP_WORKER_H

#include "dump/reuse_file.h"
#include "source/source.h"

/* ----------
 * The lists of large objects in an archive.
 * ----------
 */

/*
 * In the leader: write the lists, and set their results.  The lists are never
 * compressed (pg_backup_directory.c:_EndLO).
 */
extern void large_object_lists_write(const LargeObjects *objects,
									 const ArchiveDir *archive,
									 FileResults *results);

typedef struct DumpWorker DumpWorker;

/*
 * The data that the leader and the workers of a pool share: the arg of its
 * callbacks.
 */
typedef struct DumpPool
{
	Source		source;
	Run			run;
	Reuse	   *reuse;			/* for files of the previous archive; NULL =
								 * all rows are dumped */
	int		   *jobs;			/* the queue's numbers of the pool's jobs;
								 * NULL = all jobs, in order */
	DumpWorker *worker;			/* in a worker's process */
} DumpPool;

/*
 * Returns the callbacks for the pool: workers connect, import the snapshot,
 * and do jobs.  The caller adds further callbacks, such as reset().
 */
extern WorkerTask dump_worker_task(DumpPool *pool);

/*
 * Do a job: run() of the callbacks.  Sets *step to the data file that is
 * being dumped, from 0.  Returns when all files of the job are complete,
 * though not flushed, and their results are set.  Returns false, and does
 * nothing, if the tables of the job could not be locked.  Exits with a
 * message on other failures.
 */
extern bool dump_worker_run_job(void *pool, int no, volatile int *step);

/*
 * Returns the archive's name of file i of a job, from 0, in the order of
 * run_job_result().  The caller owns it.  NULL after the last file.
 */
extern char *dump_worker_file_name(const Run *run, const Job *job, int i);

/*
 * In the leader: after a worker that did this job was lost, remove the files
 * that it has written, so that another worker can do the job.
 */
extern void dump_worker_reset(const Run *run, int job);

#endif							/* DUMP_WORKER_H */

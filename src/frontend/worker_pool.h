/*
 * worker_pool.h
 *		Processes that take jobs from a queue until none is left.
 *
 * The pool knows jobs by their numbers only.  The leader hands the next job to
 * whichever worker asks (a pull model), so jobs should come largest first.
 * Workers are forked when the pool runs and inherit all the leader knows by
 * then; they report by their standard error, which the leader passes on; what their
 * jobs came to is left to memory that is shared.
 *
 * If a worker fails, by an error, a signal, or by vanishing, the first to
 * fail is reported, with its own words and what it was doing; the others are
 * ended in silence, and the program exits.
 */
#ifndef WORKER_POOL_H
#define WORKER_POOL_H

#include "fe_compat.h"

typedef struct WorkerTask
{
	void	   *arg;			/* given to every callback */

	/*
	 * In a worker: once, before any job, with the worker's number from 0; a
	 * run of one job; once, at the end. A job may have steps: run() sets
	 * *step, which is -1 at first, as it goes, and the leader knows it even
	 * if the worker is killed.
	 */
	void		(*start) (void *arg, int worker);
	void		(*run) (void *arg, int job, volatile int *step);
	void		(*stop) (void *arg);

	/*
	 * In the leader: what a job is about, or a step of it unless -1, for a
	 * message (owned by the caller).
	 */
	char	   *(*describe) (void *arg, int job, int step);

	/*
	 * In the leader: when watch_fd becomes readable.  Exits if that means the
	 * end.
	 */
	int			watch_fd;
	void		(*watch) (void *arg);
} WorkerTask;

/*
 * Run jobs 0 to n_jobs - 1, in this order of beginning, on at most n_workers
 * processes.  Returns when all jobs are done and all workers are gone.
 */
extern void worker_pool_run(const WorkerTask *task, int n_workers, int n_jobs);

#endif							/* WORKER_POOL_H */

/*
 * worker_pool.h
 *		A pool of processes that take jobs from a queue until all are done.
 *
 * The pool only knows the numbers of jobs.  The leader gives the next job to
 * any worker that asks (a pull model), so jobs should be sorted, largest
 * first.  Workers are forked when the pool runs, and inherit everything that
 * the leader knows then.  They report through shared memory, and through
 * their standard error, which the leader passes on.  They stay until the last
 * job is done.
 *
 * If a worker has lost its connection, and reports this with
 * worker_process_lost(), a new process replaces it after a while, and repeats
 * its job; the others continue.  A process is the unit of retry, because it
 * leaves no state behind.  If a worker could not start as many times as
 * max_retries allows, it is started once more while no other one is starting.
 * If that fails, too, the pool continues without it, as long as there are
 * others.
 *
 * A worker may refuse a job, if it cannot get a lock that another one may
 * have.  After the other jobs, the job is offered to each of the other
 * workers, and finally the leader does it itself.
 *
 * If a worker fails, through an error, a signal, or by vanishing, the first
 * failure is reported, with the worker's messages and its work.  The others
 * are ended without messages, and the program exits.
 */
#ifndef WORKER_POOL_H
#define WORKER_POOL_H

#include "process/worker_process.h"

/* ----------
 * Jobs that workers have refused, for other workers.
 *
 * There may be as many refused jobs as jobs, and every worker may refuse
 * each.  The total time of all calls does not grow faster than the number of
 * refusals.
 * ----------
 */

typedef struct RefusedJobs RefusedJobs;

/* An empty list for jobs 0 to n_jobs - 1, and workers 0 to n_workers - 1. */
extern RefusedJobs *refused_jobs_new(int n_jobs, int n_workers);

/* Note that a worker has refused this job.  No worker has the job now. */
extern void refused_jobs_add(RefusedJobs *refused, int job, int worker);

/*
 * Take a job for this worker, which it has not refused; -1 if there is none.
 */
extern int	refused_jobs_take(RefusedJobs *refused, int worker);

/*
 * refused_jobs_first() returns the first job in the list, -1 if there is
 * none; refused_jobs_take_first() takes it.
 */
extern int	refused_jobs_first(RefusedJobs *refused);
extern void refused_jobs_take_first(RefusedJobs *refused);

/* ----------
 * Callbacks in which the leader does other work while a pool runs.
 * ----------
 */

typedef struct PoolWatch
{
	void	   *arg;			/* argument of every callback; each callback
								 * may be NULL */

	/* A worker's process will be forked, or has ended. */
	void		(*begins) (void *arg, int worker);
	void		(*is_gone) (void *arg, int worker);

	/*
	 * attend() is called several times a second, and when the descriptor from
	 * watch_fd(), unless that is negative, becomes readable.  While attend()
	 * returns false the pool assigns no job, forks no worker, and ends none.
	 */
	int			(*watch_fd) (void *arg);
	bool		(*attend) (void *arg, bool all_done);

	/*
	 * Does a job that all workers have refused, while they wait.  Returns
	 * false if a connection was lost: it is called again after attend() has
	 * returned true.  Must not be NULL if a job may be refused.
	 */
	bool		(*run_refused) (void *arg, const WorkerTask *task, int job);
} PoolWatch;

/* For a pool whose leader has no other work. */
extern const PoolWatch worker_pool_no_watch;

/*
 * Run jobs 0 to n_jobs - 1 on at most n_workers processes.  They begin in
 * this order, except those that the task delays.  Returns when all jobs are
 * done and all workers have ended.
 */
extern void worker_pool_run(const WorkerTask *task, const PoolWatch *watch,
							int n_workers, int n_jobs);

#endif							/* WORKER_POOL_H */

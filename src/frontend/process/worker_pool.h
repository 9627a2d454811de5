/*
 * worker_pool.h
 *		Processes that take jobs from a queue until all are done.
 *
 * The pool knows jobs by their numbers only.  The leader hands the next job
 * to whichever worker asks (a pull model), so jobs should come largest first.
 * Workers are forked when the pool runs and inherit all the leader knows by
 * then; they report by memory they share, and by their standard error, which
 * the leader passes on.  They stay until the last job is done.
 *
 * A worker that lost its connection, and says so by worker_process_lost(), is
 * replaced after a while by a new process, which begins its job again; the
 * others continue.  A process is the unit of retry: nothing of the old one is
 * of use, and it leaves no state behind.  One that could not start as often
 * as max_retries allows starts once more, while no other one does, and is
 * then done without, as long as there are others.
 *
 * A worker may refuse a job, which it cannot get something for that another
 * one may have.  After the other jobs each of the others is asked, and at
 * last the leader does it itself.
 *
 * If a worker fails, by an error, a signal, or by vanishing, the first to
 * fail is reported, with its own words and what it was doing; the others are
 * ended in silence, and the program exits.
 */
#ifndef WORKER_POOL_H
#define WORKER_POOL_H

#include "process/worker_process.h"

/* ----------
 * Jobs that workers have refused, for others to do.
 *
 * There may be as many as the run has jobs, and each may be refused by every
 * worker: none of this takes time that grows with their number, taken over
 * all calls.
 * ----------
 */

typedef struct RefusedJobs RefusedJobs;

/* Of jobs 0 to n_jobs - 1, and workers 0 to n_workers - 1. */
extern RefusedJobs *refused_jobs_new(int n_jobs, int n_workers);

/* A worker has refused this job, which no worker has now. */
extern void refused_jobs_add(RefusedJobs *refused, int job, int worker);

/*
 * One for this worker to do, which it has not refused, and which is its own
 * from then on; -1 if there is none.
 */
extern int	refused_jobs_take(RefusedJobs *refused, int worker);

/* The first that no worker has, -1 if there is none; and take that. */
extern int	refused_jobs_first(RefusedJobs *refused);
extern void refused_jobs_take_first(RefusedJobs *refused);

/* ----------
 * What else the leader does while a pool of workers runs.
 * ----------
 */

typedef struct PoolWatch
{
	void	   *arg;			/* given to every callback; any may be NULL */

	/* A worker's process is about to be forked, or is gone. */
	void		(*begins) (void *arg, int worker);
	void		(*is_gone) (void *arg, int worker);

	/*
	 * Several times a second, and when the descriptor that watch_fd returns,
	 * if it is not negative, becomes readable.  While attend returns false no
	 * job is handed out, and no worker is forked or told to leave.
	 */
	int			(*watch_fd) (void *arg);
	bool		(*attend) (void *arg, bool all_done);

	/*
	 * Do a job that all workers have refused, while they wait.  False if a
	 * connection was lost: it is tried again after attend() has returned
	 * true.  Not NULL if a job may be refused.
	 */
	bool		(*run_refused) (void *arg, const WorkerTask *task, int job);
} PoolWatch;

/* For those whose leader has nothing else to do. */
extern const PoolWatch worker_pool_no_watch;

/*
 * Run jobs 0 to n_jobs - 1, in this order of beginning unless the task lets
 * one wait, on at most n_workers
 * processes.  Returns when all jobs are done and all workers are gone.
 */
extern void worker_pool_run(const WorkerTask *task, const PoolWatch *watch,
							int n_workers, int n_jobs);

#endif							/* WORKER_POOL_H */

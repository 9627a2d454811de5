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
 * as max_retries allows is done without, as long as there are others.
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

#include "process/pool_watch.h"

/* For those whose leader has nothing else to do, and nothing to reset. */
extern const PoolWatch worker_pool_no_watch;
extern void worker_pool_no_reset(void *arg, int job);

/*
 * Run jobs 0 to n_jobs - 1, in this order of beginning unless the task lets
 * one wait, on at most n_workers
 * processes.  Returns when all jobs are done and all workers are gone.
 */
extern void worker_pool_run(const WorkerTask *task, const PoolWatch *watch,
							int n_workers, int n_jobs);

#endif							/* WORKER_POOL_H */

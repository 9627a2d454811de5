/*
 * worker_task.h
 *		Describes what the workers of a pool do, for the pool.
 */
#ifndef WORKER_TASK_H
#define WORKER_TASK_H

#include "base/fe_compat.h"

/* The number of the leader, where it does a worker's job. */
#define WORKER_IS_LEADER (-1)

typedef struct WorkerTask
{
	void	   *arg;			/* given to every callback */
	const char *doing;			/* what a job is, for messages: "dumping" */
	int			max_retries;	/* of one job, or of one worker's start */
	int			lost_status;	/* the program's exit code when a worker has
								 * lost its connection for good, or was killed
								 * from outside, which another run may not be;
								 * 0 = 1 */
	bool		outlives_kill;	/* SIGKILL of a worker is one more loss */
	bool		has_slots;		/* each worker needs one of worker_slots.h,
								 * where there are any */
	bool		builds;			/* and they are those of builds */
	int		   *n_done;			/* counts the jobs that are done; or NULL */

	/*
	 * In a worker: once, before any job, with the worker's number from 0; a
	 * run of one job, or false if it is refused; once, at the end. A job may
	 * have steps: run() sets *step, which is -1 at first, as it goes, and the
	 * leader knows it even if the worker is killed.  The number of a worker
	 * that was lost is given to the one that replaces it.  All three also in
	 * the leader, as WORKER_IS_LEADER, for a job that all workers refuse.
	 */
	void		(*start) (void *arg, int worker);
	bool		(*run) (void *arg, int job, volatile int *step);
	void		(*stop) (void *arg);

	/*
	 * In the leader: what a job is about, or a step of it unless -1, for a
	 * message (owned by the caller).
	 */
	char	   *(*describe) (void *arg, int job, int step);

	/*
	 * In the leader: the worker that was doing this job is gone, and another
	 * one will do it: remove what there is of it.
	 */
	void		(*reset) (void *arg, int job);

	/*
	 * In the leader: may this job begin now?  If it returns true it does.  It
	 * is asked again later, and must return true at last for the first job
	 * that has not begun when none is being done.  NULL: any may.
	 */
	bool		(*begin) (void *arg, int job);

	/* In the leader: this job is done; or NULL. */
	void		(*done) (void *arg, int job);
} WorkerTask;

#endif							/* WORKER_TASK_H */

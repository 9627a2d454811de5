/*
 * pool_watch.h
 *		What else the leader does while a pool of workers runs.
 */
#ifndef POOL_WATCH_H
#define POOL_WATCH_H

#include "process/worker_task.h"

typedef struct PoolWatch
{
	void	   *arg;			/* given to every callback */

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
	 * true.  NULL if none is ever refused.
	 */
	bool		(*run_refused) (void *arg, const WorkerTask *task, int job);
} PoolWatch;

#endif							/* POOL_WATCH_H */

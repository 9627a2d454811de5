/*
 * worker_state.h
 *		A pool of workers, as its own files have it (worker_pool.h).
 */
#ifndef WORKER_STATE_H
#define WORKER_STATE_H

#include "base/retry.h"
#include "process/pool_watch.h"
#include "process/refused_jobs.h"
#include "process/worker_process.h"

typedef struct Worker
{
	WorkerProcess *process;
	bool		idle;			/* waits for a job, or to be told to leave */
	bool		started;		/* its process has asked for a job */
	bool		rests;			/* there is no process, nor was one lost: it
								 * is to be forked for a job, with a slot */
	bool		leaves_slot;	/* was told to leave, and will rest */
	int			job;			/* being done or to be done, or NO_JOB */
	Retry		retry;			/* since it last did a job */
} Worker;

typedef struct WorkerPool
{
	const WorkerTask *task;
	const PoolWatch *watch;
	Worker	   *workers;
	WorkerProcess *processes;	/* theirs */
	int			n_workers;
	int			n_staying;		/* workers that have not left for good */
	int			n_jobs;
	int			n_done;
	int			next_job;		/* all before it have begun */
	bool	   *begun;			/* by job */
	RefusedJobs *refused;
	volatile int *steps;		/* by worker, set by it: in shared memory */
	bool		has_slots;		/* workers need slots */
	bool		may_fork;		/* attend() has returned true */
	WorkerSign *signs;			/* two a worker */
} WorkerPool;

#endif							/* WORKER_STATE_H */

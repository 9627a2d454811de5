/*
 * read_task.h
 *		What a task of a dump and one of a copy have in common: it reads.
 *
 * The jobs that the plan's queue has for the task are for a pool of this
 * host's own workers, as the leader's would do them.  What they have done is
 * told to the leader line by line (tasks/task_result.h).
 */
#ifndef READ_TASK_H
#define READ_TASK_H

#include "dump_tasks/task_servers.h"
#include "process/worker_pool.h"
#include "source/worker_care.h"
#include "status/run.h"
#include "tasks/task_result.h"

/* The first member of what callbacks of its pool are given. */
typedef struct ReadTask
{
	Options		options;		/* as the plan and this host have them */
	const DumpTaskPlan *task_plan;
	Source		source;
	Run			run;
	int			task;
	int			n_tasks;
	int		   *jobs;			/* of the queue, by the pool's number */
	bool	   *told;			/* by the pool's number */
	int			n_jobs;
	TaskResults results;		/* written by its first process alone */
	TaskServers *servers;
	WorkerCare *care;
} ReadTask;

/*
 * By this plan: settle options and jobs, and connect to the server that the leader reads from.  Exits with
 * WORKER_EXIT_RETRY if that cannot be had just now: a later attempt may have
 * more luck.
 */
extern void read_task_begin(ReadTask *task, const DumpTaskPlan *task_plan,
							const Options *options);

/* This attempt has its name, and tells its results, from now on. */
extern void read_task_begin_attempt(ReadTask *task);

/*
 * Have a pool of --jobs workers do all of them, while they are looked after,
 * and tell of what is done.  pool_task says what a worker does, without arg,
 * which is the task, and what is the same for all that read.
 */
extern void read_task_run(ReadTask *task, WorkerTask *pool_task);

#endif							/* READ_TASK_H */

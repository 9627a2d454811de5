/*
 * task_leader.h
 *		Has a command of the user's run tasks, wherever that is, until all
 *		that they are to do is done.
 */
#ifndef TASK_LEADER_H
#define TASK_LEADER_H

#include "options/options.h"
#include "plan/job_queue.h"

/* What whoever leads them does; all are given arg. */
typedef struct TaskLeader
{
	const Options *options;
	const char *plan_path;
	const char *what;			/* that is missing, for messages: "files" */
	const JobQueue *queue;		/* dealt out by plan_queue_deal() */
	void	   *arg;

	/* Several times a second while they run. */
	void		(*attend) (void *arg);

	/* About once a second, and when the command has ended: what is new? */
	void		(*look) (void *arg);

	/* After that: the command has ended. */
	void		(*ended) (void *arg);

	/* Is a job for a task to do, and not done? */
	bool		(*is_missing) (void *arg, int job);

	/* What a job is about; owned by the caller. */
	char	   *(*describe) (void *arg, int job);
} TaskLeader;

/*
 * Have all jobs done by --tasks, as --run-tasks starts them; the tasks of
 * those that are missing then again, up to --retries times.  Exits with a
 * message that names what is missing if that does not do.
 */
extern void task_leader_run(const TaskLeader *leader);

#endif							/* TASK_LEADER_H */

/*
 * task_leader.h
 *		Has a command of the user's run tasks, wherever that is, until all
 *		that they are to do is done.
 */
#ifndef TASK_LEADER_H
#define TASK_LEADER_H

#include "tasks/task_gather.h"

/* What whoever leads them does; both are given arg. */
typedef struct TaskLeader
{
	TaskGather *gather;
	const char *plan_path;
	void	   *arg;

	/* Several times a second while they run. */
	void		(*attend) (void *arg);

	/* The command has ended, and all that was told till then is taken. */
	void		(*ended) (void *arg);
} TaskLeader;

/*
 * Have all jobs done by --tasks, as --run-tasks starts them; the tasks of
 * those that are missing then again, up to --retries times.  Exits with a
 * message that names what is missing if that does not do.
 */
extern void task_leader_run(const TaskLeader *leader);

#endif							/* TASK_LEADER_H */

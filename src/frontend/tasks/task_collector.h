/*
 * task_collector.h
 *		In the leader: takes what attempts at tasks tell, and knows by it what
 *		is done of the run.
 */
#ifndef TASK_COLLECTOR_H
#define TASK_COLLECTOR_H

#include "status/run.h"
#include "tasks/task_result.h"

/* ----------
 * In the leader: reads what attempts at tasks tell (task_result.h).
 * ----------
 */

/* An attempt, and how far its results are read. */
typedef struct TaskAttempt
{
	char	   *name;
	int			task;
	off_t		read;
	bool		is_ours;		/* its first line says so */
	bool		is_wrong;		/* nothing of it is taken */
	bool		ended;			/* by itself: no command of its is left */
} TaskAttempt;

typedef struct TaskAttempts TaskAttempts;

/* Take a line; false if it cannot be, and then nothing has come of it. */
typedef bool (*TaskLineCallback) (void *arg, const TaskAttempt *attempt,
								  const TaskLine *line);

/* An attempt that began and has not ended in order, or NULL. */
extern const char *task_attempts_not_ended(const TaskAttempts *attempts);

typedef struct TaskCollector
{
	Run		   *run;
	const char *directory;		/* the plan's */
	TaskAttempts *attempts;
	bool	   *refused;		/* by job: none of a task's sessions can lock
								 * its table */
} TaskCollector;

/*
 * Deal out the jobs of the run to its tasks.  Afterwards: the results of the
 * run with this name, in the directory of its plan.
 */
extern TaskCollector *task_collector_new(Run *run, const char *directory,
										 const char *run_id);

/*
 * Take what is new.  If a file is not as an attempt's result says, there is a
 * warning; another attempt may have it.
 */
extern void task_collector_look(TaskCollector *gather);

/* The command has ended: no task is at work any more, for the progress. */
extern void task_collector_command_ended(TaskCollector *gather);

/* Is all of a job of the run done? */
extern bool task_collector_job_is_done(const TaskCollector *gather, int job);

#endif							/* TASK_COLLECTOR_H */

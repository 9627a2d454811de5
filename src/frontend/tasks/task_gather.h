/*
 * task_gather.h
 *		In the leader: takes what attempts at tasks tell, and knows by it what
 *		is done of the run.
 */
#ifndef TASK_GATHER_H
#define TASK_GATHER_H

#include "status/run.h"
#include "tasks/task_attempts.h"

typedef struct TaskGather TaskGather;

/* To be zero first, but for the callback. */
struct TaskGather
{
	Run		   *run;
	const char *directory;		/* the plan's */
	TaskAttempts *attempts;
	bool	   *refused;		/* by job: none of a task's sessions can lock
								 * its table */

	/*
	 * Take the result, in the line, of a file or large object of the run that
	 * is not done.
	 */
	void		(*take) (TaskGather *gather, const TaskAttempt *attempt,
						 const TaskLine *line);
};

/*
 * Deal out the jobs of the run to its tasks.  Afterwards: what is told of the
 * run with this name, in the directory of its plan.
 */
extern void task_gather_begin(TaskGather *gather, Run *run,
							  const char *directory, const char *run_id);

/* Take what is new. */
extern void task_gather_look(TaskGather *gather);

/* The command has ended: no task is at work any more, for the progress. */
extern void task_gather_command_ended(TaskGather *gather);

/* The event of a line of rows, whose result is stored. */
extern void task_gather_tell_rows(const TaskGather *gather,
								  const TaskLine *line, int task);

/* Is all of a job of the run done? */
extern bool task_gather_job_is_done(const TaskGather *gather, int job);

#endif							/* TASK_GATHER_H */

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

/* To be zero first; a dump, a copy and a restore set what is theirs. */
struct TaskGather
{
	Run		   *run;
	const char *directory;		/* the plan's */
	TaskAttempts *attempts;
	const int  *jobs;			/* those of the run that tasks have now */
	int			n_jobs;
	bool	   *refused;		/* by job of the run; NULL if no task may */
	const volatile bool *left_out;	/* by file: need not be done; or NULL */
	const volatile bool *objects_left_out;	/* the same by group of large
											 * objects */

	/*
	 * Take the result, in the line, of a file or large object of the run that
	 * is not done.
	 */
	void		(*take) (TaskGather *gather, const TaskAttempt *attempt,
						 const TaskLine *line);
};

/* What is told of the run with this name, in the directory of its plan. */
extern void task_gather_begin(TaskGather *gather, Run *run,
							  const char *directory, const char *run_id);

/*
 * The same where tasks have all jobs of the run at once, which are dealt out
 * here, and may refuse those whose tables none of their sessions can lock.
 */
extern void task_gather_begin_all(TaskGather *gather, Run *run,
								  const char *directory, const char *run_id);

/* Take what is new. */
extern void task_gather_look(TaskGather *gather);

/* The command has ended: no task is at work any more, for the progress. */
extern void task_gather_command_ended(TaskGather *gather);

/*
 * Of a run whose rows go to a target: the result of a line is done, by this
 * task.  Nothing comes of it if it is known, or there is no such file.
 */
extern void task_gather_store(const TaskGather *gather, const TaskLine *line,
							  int task);

/* The event of a line of rows, whose result is stored. */
extern void task_gather_tell_rows(const TaskGather *gather,
								  const TaskLine *line, int task);

/* Is all of a job of the run done, or left out? */
extern bool task_gather_job_is_done(const TaskGather *gather, int job);

#endif							/* TASK_GATHER_H */

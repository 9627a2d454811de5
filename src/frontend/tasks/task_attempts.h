/*
 * task_attempts.h
 *		In the leader: reads what attempts at tasks tell (task_result.h).
 */
#ifndef TASK_ATTEMPTS_H
#define TASK_ATTEMPTS_H

#include "tasks/task_result.h"

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

/* directory is that of the plan of this run. */
extern TaskAttempts *task_attempts_new(const char *directory,
									   const char *run_id, int n_tasks,
									   TaskLineCallback take, void *arg);

/* Take what is new. */
extern void task_attempts_look(TaskAttempts *attempts);

/* An attempt that began and has not ended in order, or NULL. */
extern const char *task_attempts_not_ended(const TaskAttempts *attempts);

#endif							/* TASK_ATTEMPTS_H */

/*
 * task_help.h
 *		Which jobs of others a task does that has done its own.
 *
 * Shares are even by bytes; hosts are not equally fast, and some fail.  So a
 * task goes on with jobs that no attempt has begun, of tasks that have: tasks
 * that a scheduler has yet to place may be meant to be short.  What has begun
 * is seen by the files that attempts have made so far, beside the plan.  It
 * takes jobs from the end, and leaves each worker of the other task one more,
 * which would come to the last one before that is done.
 *
 * Whoever helps claims the job first by a file that only one can create, as
 * many may be done with their own at the same time.  Its own task, should it
 * come that far meanwhile, waits for what it gets rather than do it, too, for
 * as long as that grows.  A job at which an attempt has failed is left to its
 * own task: it may be the job's fault.
 */
#ifndef TASK_HELP_H
#define TASK_HELP_H

#include "status/run.h"

/*
 * So many jobs of others a task does at most: its pool asks for each, even if
 * there are none.
 */
#define MOST_HELPED 10000

typedef struct TaskHelp TaskHelp;

/*
 * For this task of the run, before its workers are forked.  directory is that
 * of the plan, archive that of the archive.
 */
extern TaskHelp *task_help_new(const Run *run, int task,
							   const char *directory, const char *archive);

/*
 * In a worker: the number of a job to do, claimed; -1 if there is none.  All
 * workers together look at each job once, the last first.
 */
extern int	task_help_choose(TaskHelp *help);

/* In a worker: such a job is done, and its files are on disk. */
extern void task_help_made(const TaskHelp *help, int job);

/*
 * The task is done with such a job, or with one of its own, without having
 * made its files: others may do it, unless it has failed.
 */
extern void task_help_leave(const TaskHelp *help, int job, bool failed);

/*
 * In a worker that has yet to begin a job of the task's own: does another
 * task do it?  Returns true when that has made it; false if nobody does, or
 * whoever does has not gone on for a while.
 */
extern bool task_help_comes(TaskHelp *help, int job);

#endif							/* TASK_HELP_H */

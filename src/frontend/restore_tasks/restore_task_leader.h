/*
 * restore_task_leader.h
 *		The leader of a restore by tasks: has a command of the user's run
 *		them, wherever that is, until all rows are on the target.
 *
 * What is done is what the target's log of the restore says (job_log.h): a
 * task writes its line in the transaction that loads, so that nothing is
 * loaded twice, by however many attempts, and nothing is taken for loaded
 * that is not.  What attempts tell in files beside the plan is for progress,
 * and for what comes while others are at work: numbers, and what cannot be
 * loaded at all.
 */
#ifndef RESTORE_TASK_LEADER_H
#define RESTORE_TASK_LEADER_H

#include "restore_tasks/restore_task_work.h"

/* Before anything is made: where the plan is going to be. */
extern TaskPlace *restore_task_leader_place(const Options *options);

/*
 * Have all jobs of the run's plan done by --tasks, as --run-tasks starts
 * them, one wave after the other.  What cannot be loaded is told, counted and
 * left out, or is the end with --exit-on-error.  Returns when all else is on
 * the target; exits with a message that names what is missing if it cannot be
 * had.
 */
extern void restore_task_leader_run(const RestoreTaskWork *work);

#endif							/* RESTORE_TASK_LEADER_H */

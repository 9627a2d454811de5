/*
 * task_deal.h
 *		In the leader, before a plan is written: which task does which jobs.
 */
#ifndef TASK_DEAL_H
#define TASK_DEAL_H

#include "plan/job_queue.h"

/*
 * Deal out the queue's jobs to so many tasks, so that all have the same to
 * do.
 */
extern void task_deal(const JobQueue *queue, int n_tasks);

#endif							/* TASK_DEAL_H */

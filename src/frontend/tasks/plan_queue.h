/*
 * plan_queue.h
 *		The queue of jobs in a plan's file.
 */
#ifndef PLAN_QUEUE_H
#define PLAN_QUEUE_H

#include "plan/job_queue.h"
#include "tasks/plan_read.h"

/* Deal out the jobs to so many tasks, so that all have the same to do. */
extern void plan_queue_deal(const JobQueue *queue, int n_tasks);

/*
 * What has been read, as a queue of these files; owned.  Notes what is wrong
 * with it.
 */
extern JobQueue *plan_queue_make(PlanReader *reader, const ChunkPlan *chunks,
								 int n_groups);

#endif							/* PLAN_QUEUE_H */

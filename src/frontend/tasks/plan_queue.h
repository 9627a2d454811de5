/*
 * plan_queue.h
 *		The queue of jobs in a plan's file.
 */
#ifndef PLAN_QUEUE_H
#define PLAN_QUEUE_H

#include "plan/job_queue.h"
#include "tasks/plan_read.h"

/*
 * What has been read, as a queue of these files; owned.  Notes what is wrong
 * with it.
 */
extern JobQueue *plan_queue_make(PlanReader *reader, const ChunkPlan *chunks,
								 int n_groups);

#endif							/* PLAN_QUEUE_H */

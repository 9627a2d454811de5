/*
 * restore_task_work.h
 *		What is settled of a restore when tasks are to load the rows.
 */
#ifndef RESTORE_TASK_WORK_H
#define RESTORE_TASK_WORK_H

#include "job_log/job_log_open.h"
#include "plan/archive_plan.h"
#include "status/run.h"
#include "target/target.h"
#include "tasks/task_place.h"

typedef struct RestoreTaskWork
{
	TaskPlace  *place;
	Run		   *run;
	const ArchivePlan *plan;
	Target	   *target;
	JobLog	   *log;
	const char *identity;		/* see job_log_archive() */
	const int  *ids;			/* of the entries that are restored */
	int			n_ids;
	const Oid  *targets;		/* by table */
	const		JobLogKind *kinds;	/* by table */
	const bool *fresh;			/* by table, or NULL */
	volatile bool *left_out;	/* by data file */
	volatile bool *objects_left_out;	/* by group of large objects */
	volatile int *n_errors;
} RestoreTaskWork;

#endif							/* RESTORE_TASK_WORK_H */

/*
 * plan_format.h
 *		The form of a plan's file: JSON, the head's members first.
 *
 *	{ head's members,
 *	"tables": [ {table's members, "columns": [text, ...]}, ...],
 *	"files": [ {members}, ...],
 *	"queue": [ number of a file, in the order of the jobs, ...],
 *	"groups": [ {"first": number of its first object, "oids": [...]}, ...],
 *	"jobs": [ {members}, ...] }
 */
#ifndef PLAN_FORMAT_H
#define PLAN_FORMAT_H

#include "tasks/plan_field.h"
#include "tasks/task_plan.h"

/* A table, with what was decided about it. */
typedef struct PlannedTable
{
	DumpTable	table;
	TablePlan	decided;
} PlannedTable;

extern const PlanField plan_head_fields[];	/* of TaskPlanHead */
extern const PlanField plan_table_fields[]; /* of PlannedTable */
extern const PlanField plan_file_fields[];	/* of DataFile */
extern const PlanField plan_job_fields[];	/* of Job */

#endif							/* PLAN_FORMAT_H */

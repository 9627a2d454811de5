/*
 * dump_task_format.h
 *		The form of a dump's plan in its file.
 *
 *	{ head's members,
 *	"standbys": [ {members}, ...],
 *	"tables": [ {table's members, "columns": [text, ...],
 *				 "masks": [text or null, ...] if there are any}, ...],
 *	"files": [ {members, "previous": {members} if there is one}, ...],
 *	"queue": [ number of a file, in the order of the jobs, ...],
 *	"groups": [ {"first": number of its first object, "oids": [...]}, ...],
 *	"jobs": [ {members}, ...] }
 */
#ifndef DUMP_TASK_FORMAT_H
#define DUMP_TASK_FORMAT_H

#include "tasks/dump_task_plan.h"

/* A table, with what was decided about it. */
typedef struct PlannedTable
{
	DumpTable	table;
	TablePlan	decided;
	int			n_masks;		/* that were read */
} PlannedTable;

/* A file of the previous archive. */
typedef struct PlannedPrevious
{
	ManifestFile file;
	char	   *checksum;		/* hexadecimal; the file has it as bytes */
} PlannedPrevious;

extern const PlanField dump_task_head_fields[]; /* of DumpTaskHead */
extern const PlanField dump_task_standby_fields[];	/* of PlannedStandby */
extern const PlanField dump_task_table_fields[];	/* of PlannedTable */
extern const PlanField dump_task_file_fields[]; /* of DataFile */
extern const PlanField dump_task_previous_fields[]; /* of PlannedPrevious */

#endif							/* DUMP_TASK_FORMAT_H */

/*
 * copy_task_plan.h
 *		What a worker host is told of a copy: the plan of what is read
 *		(dump_tasks/dump_task_format.h), and, in the same file, where it goes.
 *
 *	"target": [ {members of a CopyTaskTarget} ],
 *	"target_tables": [ {members of a CopyTaskTable}, ...]
 */
#ifndef COPY_TASK_PLAN_H
#define COPY_TASK_PLAN_H

#include "copy/copy_format.h"
#include "dump_tasks/dump_task_plan.h"
#include "job_log/job_log.h"
#include "source/source.h"
#include "tasks/plan_read.h"

/* What is there once; texts are owned, and NULL where there is nothing. */
typedef struct CopyTaskTarget
{
	char	   *conninfo;		/* how the leader has reached it */
	TaskServer	server;
	char	   *history;		/* see TargetState */
	int			attempt;		/* of the job log */
	bool		fast_copy;
	bool		data_only;
	bool		disable_triggers;
	char	   *toast_compression;
	char	   *wire_compression;
	char	   *loader_missing; /* why there is none, of raw tuples */
	char	   *loader_functions;
	char	   *loader_table;
} CopyTaskTarget;

/* A table, as the leader has found it on the target. */
typedef struct CopyTaskTable
{
	char	   *name;			/* as DumpTable.copy_name */
	char	   *tag;			/* its name alone, as the source's */
	CopyFormat	format;
} CopyTaskTable;

typedef struct CopyTaskPlan
{
	DumpTaskPlan *read;			/* what is read; its tables have what loading
								 * needs, too */
	CopyTaskTarget target;
	CopyFormats formats;
	PlanArray	targets;		/* CopyTaskTarget: while it is being read */
	PlanArray	tables;			/* CopyTaskTable */
} CopyTaskPlan;

/*
 * Write the plan of this run at path: what the leader, who has made
 * everything that rows need, has settled.
 */
extern void copy_task_plan_write(const char *path, const Source *source,
								 const Target *target, const DumpPlan *plan,
								 const CopyFormats *formats,
								 const JobLog *log, const char *run_id);

/*
 * Read it.  Exits with a message if the file is not the user's own, is
 * damaged, is of something else, or was written by another version of the
 * program.
 */
extern CopyTaskPlan *copy_task_plan_read(const char *path);

#endif							/* COPY_TASK_PLAN_H */

/*
 * restore_task_plan.h
 *		What a worker host is told: the plan of a restore as data in a file.
 *
 * The rest a task finds in the archive, as its leader has: which entries are
 * restored, and so which files there are, follows from their dump IDs.
 *
 *	{ head's members,
 *	"ids": [ dump ID of an entry that is restored, ...],
 *	"tables": [ {members}, ...],
 *	"left_out": [ number of a file that is not to be loaded, ...],
 *	"objects_left_out": [ number of such a group of large objects, ...],
 *	"queue": [ number of a file, in the order of the jobs, ...],
 *	"jobs": [ {members}, ...] }
 *
 * Jobs are those of one wave (job_queue.h), of which something is to be done.
 */
#ifndef RESTORE_TASK_PLAN_H
#define RESTORE_TASK_PLAN_H

#include "plan/dump_plan.h"
#include "tasks/plan_read.h"

/* What is there once; texts are owned, and NULL where there is nothing. */
typedef struct RestoreTaskHead
{
	TaskRun		run;
	char	   *archive;		/* its path */
	char	   *identity;		/* see job_log_archive() */
	int			attempt;		/* of the job log */
	char	   *history;		/* of the target: see TargetState */
	char	   *incarnation;	/* see TARGET_INCARNATION_SQL */
	uint64		chunk_bytes;
	bool		data_only;
	bool		disable_triggers;
	char	   *toast_compression;
	int			n_files;		/* of the plan */
	int			n_groups;
} RestoreTaskHead;

/* A table, as the leader has found it on the target. */
typedef struct RestoreTaskTable
{
	Oid			oid;
	bool		unlogged;
	bool		fresh;			/* see restore_freeze_choose() */
} RestoreTaskTable;

typedef struct RestoreTaskPlan
{
	PlanReader	reader;			/* first: its callbacks have it */
	RestoreTaskHead head;
	PlanArray	ids;			/* int */
	PlanArray	tables;			/* RestoreTaskTable */
	PlanArray	left_out;		/* int */
	PlanArray	objects_left_out;	/* int */
} RestoreTaskPlan;

/*
 * Write the file at path, as plan_write_begin() has it, with these jobs; the
 * rest of the plan is in arrays as they would have been read.
 */
extern void restore_task_plan_write(const char *path,
									const RestoreTaskPlan *plan,
									const ChunkPlan *chunks,
									const JobQueue *queue);

/*
 * Read it.  Exits with a message if the file is not the user's own, is
 * damaged, or was written by another version of the program.
 */
extern RestoreTaskPlan *restore_task_plan_read(const char *path);

/*
 * Its jobs, when the plan of the archive is made; owned.  Exits with a
 * message if the two do not go together.
 */
extern JobQueue *restore_task_plan_queue(RestoreTaskPlan *plan,
										 const char *path,
										 const DumpPlan *archive);

/*
 * The same of a text, for those that need no file: what is wrong with it, or
 * NULL.
 */
extern const char *restore_task_plan_parse(RestoreTaskPlan *plan,
										   const char *text, size_t len);
extern void restore_task_plan_free(RestoreTaskPlan *plan);

#endif							/* RESTORE_TASK_PLAN_H */

/*
 * dump_task_plan.h
 *		What a worker host is told: the plan of a dump as data in a file.
 *
 * It has names, columns or their masks, conditions and blocks, which
 * statements are made of in the same way on both sides.
 */
#ifndef DUMP_TASK_PLAN_H
#define DUMP_TASK_PLAN_H

#include "plan/dump_plan.h"
#include "tasks/task_plan.h"

/* What is there once; texts are owned, and NULL where there is nothing. */
typedef struct DumpTaskHead
{
	TaskRun		run;
	char	   *snapshot;
	char	   *snapshot_identity;
	char	   *encoding;
	char	   *compression;	/* as compress_spec_print() has it */
	char	   *server_compression; /* NULL = tasks compress */
	char	   *checksums;
	int			lock_wait_ms;
	char	   *extra_float_digits;
	bool		quote_all_identifiers;
	bool		no_sync;
	char	   *archive;		/* its directory; NULL with a command */
	char	   *pipe_command;
	int			server_version;
	int			block_bytes;
	char	   *extension_missing;	/* why it is not used */
	char	   *extension_functions;
	char	   *extension_table;
	char	   *fingerprint_algorithm;	/* NULL = none are recorded */
	char	   *fingerprint_key;
	char	   *fingerprint_settings;
	char	   *previous;		/* directory of the archive whose files may be
								 * used again; NULL = none */
	char	   *copy_method;	/* how; NULL = the first that does */
	bool		knows_changes;	/* of blocks since then */
	int			n_objects;		/* large objects in all groups */
} DumpTaskHead;

/* A further standby that has the snapshot: a Standby, as a task needs it. */
typedef struct PlannedStandby
{
	char	   *name;
	char	   *conninfo;
	char	   *snapshot;
	char	   *identity;
	char	   *holder_query;
} PlannedStandby;

typedef struct DumpTaskPlan
{
	DumpTaskHead head;
	PlannedStandby *standbys;
	int			n_standbys;
	DumpPlan	plan;			/* without tables of contents */
} DumpTaskPlan;

#endif							/* DUMP_TASK_PLAN_H */

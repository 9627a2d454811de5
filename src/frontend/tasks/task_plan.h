/*
 * task_plan.h
 *		What a worker host is told: the plan of a dump as data in a file.
 *
 * The leader writes the file when all is planned (plan_write.h); tasks read
 * it, on whatever host they are (plan_read.h), and do what workers do that
 * the leader has forked.  It has names, columns, conditions and blocks, which
 * statements are made of in the same way on both sides, as the program must
 * be of the same version; and no password: each host has its own means.
 *
 * The file is 0600 in a directory of its own.  What is in it is executed, so
 * a task takes it only if it is the user's own, and nobody else's to change.
 */
#ifndef TASK_PLAN_H
#define TASK_PLAN_H

#include "plan/dump_plan.h"

/* Which server and database it is: texts, to be compared. */
typedef struct TaskServer
{
	char	   *system_identifier;	/* "" if the role may not ask */
	char	   *timeline;		/* the same */
	char	   *database;
	char	   *user;			/* whose sessions they are */
} TaskServer;

/* What is there once; texts are owned, and NULL where there is nothing. */
typedef struct TaskPlanHead
{
	char	   *version;		/* of the program */
	char	   *run_id;			/* random, of this run only */
	int			n_tasks;
	char	   *conninfo;		/* how the leader has reached the server */
	TaskServer	server;
	char	   *snapshot;
	char	   *snapshot_identity;
	char	   *encoding;
	char	   *compression;	/* as compress_spec_print() has it */
	char	   *server_compression; /* NULL = tasks compress */
	char	   *checksums;
	int			lock_wait_ms;
	char	   *role;
	char	   *extra_float_digits;
	bool		quote_all_identifiers;
	bool		enable_row_security;
	bool		no_sync;
	char	   *archive;		/* its directory; NULL with a command */
	char	   *pipe_command;
	uint64		retries;
	int			server_version;
	int			block_bytes;
	char	   *extension_missing;	/* why it is not used */
	char	   *extension_functions;
	char	   *extension_table;
	int			n_objects;		/* large objects in all groups */
} TaskPlanHead;

typedef struct TaskPlan
{
	TaskPlanHead head;
	DumpPlan	plan;			/* without tables of contents */
} TaskPlan;

#endif							/* TASK_PLAN_H */

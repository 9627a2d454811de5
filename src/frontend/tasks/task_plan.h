/*
 * task_plan.h
 *		What the plan of every run by tasks has: which run, which server.
 *
 * The leader writes a plan as data into a file when all is planned
 * (plan_write.h); tasks read it, on whatever host they are (plan_read.h), and
 * do what workers do that the leader has forked.  The program must be of the
 * same version on both sides.  There is no password in it: each host has its
 * own means.
 *
 * The file is 0600 in a directory of its own.  What is in it is executed, so
 * a task takes it only if it is the user's own, and nobody else's to change.
 */
#ifndef TASK_PLAN_H
#define TASK_PLAN_H

#include "plan/job_queue.h"
#include "tasks/plan_field.h"

/* Which server and database it is: texts, to be compared. */
typedef struct TaskServer
{
	char	   *system_identifier;	/* "" if the role may not ask */
	char	   *timeline;		/* the same */
	char	   *database;
	char	   *user;			/* whose sessions they are */
} TaskServer;

/* Earlier versions also wrote plans of copies and restores. */
#define TASKS_DUMP "dump"

/* The first members of the file; texts are owned. */
typedef struct TaskRun
{
	char	   *version;		/* of the program */
	char	   *what;			/* is done: TASKS_DUMP */
	char	   *run_id;			/* random, of this run only */
	int			n_tasks;
	char	   *conninfo;		/* how the leader has reached the server */
	char	   *time_zone;		/* the leader's PGTZ, or NULL */
	char	   *date_style;		/* its PGDATESTYLE, or NULL */
	TaskServer	server;
	char	   *role;			/* options; NULL if there is none */
	bool		enable_row_security;
	uint64		retries;
} TaskRun;

extern const PlanField task_run_fields[];	/* of TaskRun */
extern const PlanField task_job_fields[];	/* of Job */

#endif							/* TASK_PLAN_H */

/*
 * task_run.h
 *		What the leader and its tasks agree on first: which run it is, under
 *		which options.
 */
#ifndef TASK_RUN_H
#define TASK_RUN_H

#include "options/options.h"
#include "session/connection.h"
#include "tasks/task_plan.h"

/*
 * In the leader: of a run with this name, which is borrowed, as are all
 * options.  conn is a session on the server that tasks are to find.
 */
extern TaskRun task_run_make(const char *run_id, const Options *options,
							 PGconn *conn, const PeerAddress *address);

/*
 * In a task: the options of this host's command line, and its environment's
 * settings of sessions, are those of the run, as far as the leader says them.
 * Which task of how many it is; exits with a message if it is none of the
 * run.
 */
extern void task_run_settle(const TaskRun *run, Options *options, int *task,
							int *n_tasks);

/* No session at this time: a later attempt may have more luck. */
pg_noreturn extern void task_run_give_up(const char *cause);

#endif							/* TASK_RUN_H */

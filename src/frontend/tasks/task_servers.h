/*
 * task_servers.h
 *		The servers that a task reads from: its leader's, and the further
 *		standbys that this one has the snapshot on.
 *
 * The task's first process has a session at each that its workers are at: it
 * asks the first whether the leader is there, and all what workers wait for.
 * A worker that has lost a server is replaced by one at the next.
 */
#ifndef TASK_SERVERS_H
#define TASK_SERVERS_H

#include "source/source.h"
#include "tasks/task_plan_read.h"

typedef struct TaskServers TaskServers;

/*
 * The leader's server is reached as it has been, but for what the options
 * say; the others as it has.  Sets where the source reads from.
 */
extern TaskServers *task_servers_new(const Options *options,
									 const DumpTaskPlan *plan, int task,
									 Source *source);

/* How many. */
extern int	task_servers_count(const TaskServers *servers);

/*
 * Connect to the leader's server, and warn if n_workers cannot.  NULL,
 * or why that cannot be had just now; owned.  Exits with a message if it is
 * another one, or the leader is gone.
 */
extern char *task_servers_connect(TaskServers *servers, int n_workers);

/* Several times a second: exit with a message if the leader is gone. */
extern void task_servers_attend(TaskServers *servers);

/* A CareLook; arg is the TaskServers. */
extern PGresult *task_servers_look(void *arg, int server, const char *query,
								   bool silently);

/* A worker's process is about to be forked: where it is to read from. */
extern int	task_servers_choose(TaskServers *servers);

extern void task_servers_close(TaskServers *servers);

#endif							/* TASK_SERVERS_H */

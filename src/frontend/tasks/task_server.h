/*
 * task_server.h
 *		What tasks and their leader agree on through the server: which one it
 *		is, and whether the leader is there.
 *
 * The leader holds an advisory lock that the run's random name gives the
 * number of.  A server ends a session whose client is gone, and gives up its
 * locks: a session that gets this one knows that the leader has none of it
 * any more.
 */
#ifndef TASK_SERVER_H
#define TASK_SERVER_H

#include "source/source.h"
#include "tasks/task_plan.h"

/* ----------
 * How a task reaches the server.
 * ----------
 */

/*
 * In the leader: how it has reached the server, of which this is a session,
 * for the plan; owned.  Other hosts have another environment: what decides
 * whom to trust, and what is read, is that of the leader, wherever it had
 * that from.  The last of a keyword counts.
 */
extern char *task_address_of(PGconn *conn, const PeerAddress *address);

/*
 * In the leader's session: hold the run's lock up to its end; ends by
 * session_lost() if others do not let it.
 */
extern void task_server_hold(PGconn *conn, const char *run_id);

/* An SQL expression for the leader's process on the server; owned. */
extern char *task_server_leader_process(const char *run_id);

/* ----------
 * What the leader and its tasks agree on first: which run it is, under
 * which options.
 * ----------
 */

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

/* ----------
 * The servers that a task reads from: its leader's, and the further
 * standbys that this one has the snapshot on.
 *
 * The task's first process has a session at each that its workers are at: it
 * asks the first whether the leader is there, and all what workers wait for.
 * A worker that has lost a server is replaced by one at the next.
 * ----------
 */

typedef struct TaskServers TaskServers;

/*
 * The leader's server is reached as it has been, but for what the options
 * say; the others as it has.  Sets where the source reads from.
 */
extern TaskServers *task_servers_new(const Options *options,
									 const DumpTaskPlan *plan, int task,
									 Source *source);

/*
 * Connect to the leader's server, and warn if n_workers cannot.  NULL,
 * or why that cannot be had just now; owned.  Exits with a message if it is
 * another one, or the leader is gone.
 */
extern char *task_servers_connect(TaskServers *servers, int n_workers);

/* Several times a second: exit with a message if the leader is gone. */
extern void task_servers_attend(TaskServers *servers);

/* A MonitorLook; arg is the TaskServers. */
extern PGresult *task_servers_look(void *arg, int server, const char *query,
								   bool silently);

/* A worker's process is about to be forked: where it is to read from. */
extern int	task_servers_choose(TaskServers *servers);

extern void task_servers_close(TaskServers *servers);

#endif							/* TASK_SERVER_H */

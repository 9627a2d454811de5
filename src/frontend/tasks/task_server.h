/*
 * task_server.h
 *		The connection of a task to its leader's server: how to reach it,
 *		whether it is the right server, and whether the leader is still there.
 *
 * The leader and the tasks have no connection to each other.  Instead, the
 * leader's session holds an advisory lock, whose key is part of the run's
 * random ID.  A server ends a session whose client is gone, and releases its
 * locks.  So a task that can take this lock knows that the leader is gone.
 */
#ifndef TASK_SERVER_H
#define TASK_SERVER_H

#include "source/source.h"
#include "tasks/task_plan.h"

/* ----------
 * The address of the server.
 * ----------
 */

/*
 * In the leader: returns the address at which the leader has reached the
 * server of this session, for the plan; the caller owns it.  Options that
 * decide which servers to trust and which rows are read are included, no
 * matter where the leader got them from, because the environment of other
 * hosts may be different.  If a keyword occurs several times, the last value
 * applies.
 */
extern char *task_address_of(PGconn *conn, const PeerAddress *address);

/*
 * In the leader: take the lock of the run, which this session holds until it
 * ends.  Calls session_lost() if another session holds it.
 */
extern void task_server_hold(PGconn *conn, const char *run_id);

/*
 * Returns an SQL expression for the process ID of the leader's session on the
 * server; the caller owns it.
 */
extern char *task_server_leader_process(const char *run_id);

/* ----------
 * The identity and options of the run.
 * ----------
 */

/*
 * In the leader: describe the run for the plan.  run_id and options are
 * borrowed.  conn is a session on the server that the tasks will connect to.
 */
extern TaskRun task_run_make(const char *run_id, const Options *options,
							 PGconn *conn, const PeerAddress *address);

/*
 * In a task: replace options of this host's command line, and environment
 * variables with settings of sessions, with those of the leader.  Also reads
 * --task; exits with a message if the run does not have this task.
 */
extern void task_run_settle(const TaskRun *run, Options *options, int *task,
							int *n_tasks);

/* ----------
 * The servers that a task reads from: the server of its leader, and further
 * standbys with the same snapshot.
 *
 * The first process of a task has a session on each server that its workers
 * use.  It checks on the first server whether the leader is still there, and
 * queries on all servers what workers wait for.  A worker that has lost a
 * server is replaced by a worker on the next server.
 * ----------
 */

typedef struct TaskServers TaskServers;

/*
 * Options can change the address of the leader's server, but not those of
 * further standbys.  Sets where the source reads from.
 */
extern TaskServers *task_servers_new(const Options *options,
									 const DumpTaskPlan *plan, int task,
									 Source *source);

/*
 * Connect to the leader's server, and warn if it does not allow n_workers
 * connections.  Returns NULL, or the reason why there is no connection now;
 * the caller owns it.  Exits with a message if it is another server, or if
 * the leader is gone.
 */
extern char *task_servers_connect(TaskServers *servers, int n_workers);

/*
 * Call this several times a second.  Exits with a message if the leader is
 * gone.
 */
extern void task_servers_attend(TaskServers *servers);

/*
 * Queries a server for the progress monitor: a MonitorLook, whose arg is the
 * TaskServers.
 */
extern PGresult *task_servers_look(void *arg, int server, const char *query,
								   bool silently);

/*
 * Returns the server for the next worker.  Call this before the worker's
 * process is forked.
 */
extern int	task_servers_choose(TaskServers *servers);

extern void task_servers_close(TaskServers *servers);

#endif							/* TASK_SERVER_H */

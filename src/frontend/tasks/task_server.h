/*
 * task_server.h
 *		What tasks and their leader agree on through the server: which one it
 *		is, and whether the leader is there.
 *
 * The leader holds an advisory lock that the run's random name gives the
 * number of.  A server ends a session whose client is gone, and gives up its
 * locks: whoever gets this one knows that the leader has none of it any more.
 */
#ifndef TASK_SERVER_H
#define TASK_SERVER_H

#include "session/session.h"
#include "tasks/task_plan.h"

/* Ask the server of a connection which one it is. */
extern TaskServer task_server_read(PGconn *conn);

/*
 * Exit with a message unless it is that one, as far as the session's role may
 * ask for it.
 */
extern void task_server_check(PGconn *conn, const TaskServer *expected);

/*
 * In the leader's session: hold the run's lock up to its end; ends by
 * session_lost() if others do not let it.
 */
extern void task_server_hold(PGconn *conn, const char *run_id);

/*
 * In a task: exit with a message if nobody holds it, and so the snapshot.
 * False if the server did not say.
 */
extern bool task_server_check_leader(PGconn *conn, const char *run_id);

/* An SQL expression for the leader's process on the server; owned. */
extern char *task_server_leader_process(const char *run_id);

#endif							/* TASK_SERVER_H */

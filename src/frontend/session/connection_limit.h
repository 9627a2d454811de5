/*
 * connection_limit.h
 *		How many more connections a server has for us.
 */
#ifndef CONNECTION_LIMIT_H
#define CONNECTION_LIMIT_H

#include "session/session.h"

/*
 * The two differ if the role may not see what sessions of others are: without
 * the privileges of pg_read_all_stats.  Never below 0.
 */
typedef struct ConnectionsLeft
{
	int			at_most;		/* if none of those is a client's */
	int			at_least;		/* if all of them are */
} ConnectionsLeft;

/* Says of these two why they differ: an errdetail. */
#define CONNECTIONS_HIDDEN_DETAIL \
"Without the privileges of pg_read_all_stats the role does not see which sessions are clients."

/*
 * What the server, the role and, if that is asked for, the database of this
 * session leave, this session being there already.  PG_INT32_MAX if servers
 * before 10 are asked, which do not tell.
 */
extern ConnectionsLeft connection_limit_left(PGconn *conn, bool of_database);

/*
 * Warn if so many tasks cannot be at work at a time, each with a session to
 * look for the leader on each of so many servers, of which this is one, and
 * one worker at least on any of them, besides the leader's own sessions that
 * are yet to be.  Whoever runs them may know better how many are.  name is a
 * standby's, or NULL.
 */
extern void connection_limit_check_tasks(PGconn *conn, const char *name,
										 int n_tasks, int n_servers, int n_own);

/* In a task, whose own session this is: the same of its workers. */
extern void connection_limit_check_workers(PGconn *conn, int n_workers);

#endif							/* CONNECTION_LIMIT_H */

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

/* The same as an expression of another query, owned; and its value. */
extern char *connection_limit_expression(PGconn *conn, bool of_database);
extern ConnectionsLeft connection_limit_read(const PGresult *res, int column);

/*
 * Warn if n tasks, of that number of sessions each at least, cannot be at
 * work at a time: each has one worker's, on any of the servers that it reads,
 * and on each where it looks for the leader one for that.  Who runs them may
 * know better how many are.  server is what it is called in the message.
 */
extern void connection_limit_check_tasks(PGconn *conn, const char *server,
										 int n_tasks, int n_sessions);

/* In a task, whose own session this is: the same of its workers. */
extern void connection_limit_check_workers(PGconn *conn, int n_workers);

#endif							/* CONNECTION_LIMIT_H */

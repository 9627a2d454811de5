/*
 * session.h
 *		Runs statements in a session.
 *
 * A session is a connection to a server, a PGconn, with the settings that we
 * need (session_settings.h); one that is lost is another one once it is
 * connected again.  These are for any of them: on the source, whose leader
 * and workers share a snapshot (source/source.h), and on the target.
 */
#ifndef SESSION_H
#define SESSION_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/*
 * Run a statement that returns rows (query) or none (command).  Ends by
 * session_failed() (session_loss.h) when it fails.
 */
extern PGresult *session_query(PGconn *conn, const char *sql);
extern PGresult *session_query_params(PGconn *conn, const char *sql,
									  int n_params, const char *const *params,
									  int result_format);
extern void session_command(PGconn *conn, const char *sql);

/*
 * A number of a result, which stands for one of an array.  Exits with a
 * message unless it is within these limits.
 */
extern int	session_number(const PGresult *res, int row, int column, int least,
						   int most);

/*
 * The numbers of an array in the first row of a result, and how many; owned.
 * NULL if the value is not an array of numbers.
 */
extern int64 *session_numbers(const PGresult *res, int column, int *n);

/* For the backend's process; a pooler tells PQbackendPID() another number. */
extern const char session_backend_query[];

/* PQexec(), watched (see session_wait.h). */
extern PGresult *session_exec(PGconn *conn, const char *sql);

/*
 * PQexec() for statements that are done at once.  NULL if there is no answer
 * in time, or no connection.
 */
extern PGresult *session_exec_within(PGconn *conn, const char *sql,
									 int wait_ms);

/*
 * Takes what follows the only result of a statement, which is nothing.  Exits
 * with a message if there is more: a COPY that no statement of ours has begun
 * would give the same result again and again.
 */
extern void session_end_results(PGconn *conn);

/*
 * Does it answer in time?  A session that has nothing else to do, and may be
 * NULL.
 */
extern bool session_answers(PGconn *conn);

/*
 * What a short query returns, which may be an error, and does no harm to the
 * transaction.  It runs as the user who connected, since those of --role may
 * not see other sessions.  *lost is set if there is no answer in time, or the
 * session has ended.
 */
extern PGresult *session_look(PGconn *conn, const char *query, int wait_ms,
							  bool *lost);

#endif							/* SESSION_H */

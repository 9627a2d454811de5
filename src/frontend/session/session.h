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

/* ----------
 * Transactions, and what a pooler makes of them
 *
 * A pooler may give each transaction of a client to another backend
 * (PgBouncer's pool_mode = transaction).  Then our settings are missing where
 * rows are read or loaded, so that rows are silently wrong, and another
 * client of the pooler has our settings.  So each session has a marker: the
 * setting pardump.session, whose value no other session has.  session_begin()
 * asks for it in the query string of BEGIN, which reaches one backend, and
 * without a round trip more.  SHOW takes no snapshot; after a SELECT there
 * SET TRANSACTION SNAPSHOT would fail.
 *
 * Settings are made within session_begin_settings() and
 * session_end_settings(): in a transaction that has found the marker.  So
 * a backend with the marker has our settings, too, and no other backend has
 * them.  A setting that belongs to one transaction is SET LOCAL.
 *
 * If the marker is missing, or has another value, the program ends with a
 * message.  The statements are the same in every session for
 * pg_stat_statements: the value is a constant of a SELECT, which that leaves
 * out, and SHOW has none.
 * ----------
 */

/*
 * Begins a transaction for settings.  It waits for no safe snapshot, and the
 * role's timeouts, which may be very short, do not end it.
 */
#define SESSION_BEGIN_SETTINGS \
"BEGIN READ ONLY, ISOLATION LEVEL READ COMMITTED;" \
" SET LOCAL statement_timeout TO 0;" \
" SET LOCAL idle_in_transaction_session_timeout TO 0"

/*
 * Begin a transaction with this statement, or with more that take no
 * snapshot; after it the session has a marker.  Ends by session_failed() when
 * it fails.  The second is not watched (see session_wait.h), for sessions on
 * the target.
 */
extern void session_begin(PGconn *conn, const char *sql);
extern void session_begin_unwatched(PGconn *conn, const char *sql);

/*
 * The same, but false if it fails, or there is no answer in time; -1 is no
 * limit, and watched.
 */
extern bool session_try_begin(PGconn *conn, const char *sql, int wait_ms);

/*
 * Around statements that make settings of the session.  Returns whether it
 * has begun a transaction, which is for the other one: within a transaction
 * of the caller's both do nothing.
 */
extern bool session_begin_settings(PGconn *conn);
extern void session_end_settings(PGconn *conn, bool begun);

/* The same around one. */
extern void session_command_settings(PGconn *conn, const char *sql);

/*
 * Look n_tries times, with another session on the same server that was opened
 * in the same way, whether a pooler gives transactions to other backends:
 * exits with a message if so.  Neither has any setting of ours yet.  False if
 * the other one does not answer in time.
 */
extern bool session_probe(PGconn *conn, PGconn *other, int n_tries);

/*
 * End a session that is not lost: its settings with it, as a pooler gives the
 * backend to other clients.  What is not committed is rolled back.  conn may
 * be NULL.
 */
extern void session_close(PGconn *conn);

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

/*
 * session.h
 *		What is done in a session: its settings, snapshot, locks, statements.
 */
#ifndef SESSION_H
#define SESSION_H

#include "base/fe_compat.h"

#include "libpq-fe.h"
#include "pqexpbuffer.h"

#include "options/options.h"

/* Set client_encoding. */
extern void session_set_encoding(PGconn *conn, const char *encoding);

/*
 * Bring a session in the state of pg_dump's setup_connection(), without the
 * transaction: search_path, role, output formats, timeouts, row_security.
 * encoding may be NULL for the server's default.
 */
extern void session_set_up(PGconn *conn, const Options *options,
						   const char *encoding);

/*
 * The leader's transaction: REPEATABLE READ READ ONLY, or SERIALIZABLE READ
 * ONLY DEFERRABLE if asked for, or in the given snapshot unless that is NULL.
 * Returns the exported snapshot for the others; owned.
 */
extern char *session_begin_leader(PGconn *conn, const Options *options,
								  const char *import);

/*
 * Tells the transaction's snapshot from others that are exported under the
 * same name: a server that was started again gives the same names anew.  Made
 * of the time of the start and of the transaction IDs that it sees as
 * running, as a server that recovers from a crash keeps the first; owned.
 */
extern char *session_snapshot_identity(PGconn *conn);

/*
 * A worker's transaction: REPEATABLE READ READ ONLY in the given snapshot.
 * If whoever exported that is gone, or another snapshot has its name by now,
 * the session counts as lost: there may be another one to have it from.
 */
extern void session_begin_worker(PGconn *conn, const char *snapshot,
								 const char *identity);

/* The same, but returns false, without a transaction, if that is so. */
extern bool session_try_import(PGconn *conn, const char *snapshot,
							   const char *identity);

/* The name of the transaction's snapshot for others, to its end; owned. */
extern char *session_export_snapshot(PGconn *conn);

/*
 * Run a statement that returns rows (query) or none (command).  Ends by
 * session_failed() when it fails.
 */
extern PGresult *session_query(PGconn *conn, const char *sql);
extern PGresult *session_query_params(PGconn *conn, const char *sql,
									  int n_params, const char *const *params,
									  int result_format);
extern void session_command(PGconn *conn, const char *sql);

/* For the backend's process; a pooler tells PQbackendPID() another number. */
extern const char session_backend_query[];

/* PQexec(), watched (see traffic.h and session_wait.h). */
extern PGresult *session_exec(PGconn *conn, const char *sql);

/*
 * PQexec() for statements that are done at once.  NULL if there is no answer
 * in time, or no connection.
 */
extern PGresult *session_exec_within(PGconn *conn, const char *sql,
									 int wait_ms);

/*
 * What a short query returns, which may be an error, and does no harm to the
 * transaction.  It runs as the user who connected, since those of --role may
 * not see other sessions.  *lost is set if there is no answer in time, or the
 * session has ended.
 */
extern PGresult *session_look(PGconn *conn, const char *query, int wait_ms,
							  bool *lost);

/* Is the server a hot standby?  There only replay takes exclusive locks. */
extern bool session_is_standby(const PGconn *conn);

/*
 * Did a statement fail because its session has ended, or because replay on a
 * standby was in conflict with it, without a fault of the statement's?  This
 * alone decides what a new session may do anew.  res is what the statement
 * returned, or NULL if there is nothing.
 */
extern bool session_is_lost(const PGconn *conn, const PGresult *res);

/*
 * The message of the error, as libpq writes it; if replay was in conflict,
 * with a hint at the settings that prevent this.  res may be NULL, for what
 * libpq found by itself.  Owned.
 */
extern char *session_error_words(const PGconn *conn, const PGresult *res);

/*
 * End the process after a statement has failed, with a message that begins
 * with the problem; a worker that lost its session by worker_pool_lost().
 */
pg_noreturn extern void session_failed(PGconn *conn, const PGresult *res,
									   const char *problem, const char *sql);

#endif							/* SESSION_H */

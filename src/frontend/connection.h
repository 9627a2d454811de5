/*
 * connection.h
 *		Sessions on the server: the leader's, the workers', pg_dump's.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "fe_compat.h"

#include "libpq-fe.h"
#include "pqexpbuffer.h"

#include "options.h"

/*
 * How to reach the very server the leader is connected to.  A name may stand
 * for several servers, and a snapshot lives on one: so the address is the one
 * that was reached.
 */
typedef struct PeerAddress
{
	char	   *conninfo;		/* no secret in it: fit for argv and logs */
	char	   *password;		/* NULL when none was used */
	char	   *private_conninfo;	/* conninfo and all secrets but password */
	char	   *service;		/* a service file's text with these secrets,
								 * its service named PEER_SERVICE; NULL when
								 * there are none */
} PeerAddress;

#define PEER_SERVICE "pg_pardump"

/* Connect as the user asked, prompting for a password at most once. */
extern PGconn *connection_open_leader(const Options *options,
									  const char *progname);

/* Describe the server of a connection to those who come after; owned. */
extern PeerAddress *peer_address_new(PGconn *conn);

/* Connect to it again; the result's settings are the server's defaults. */
extern PGconn *connection_open_peer(const PeerAddress *address,
									const char *progname);

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
 * ONLY DEFERRABLE if asked for, in the snapshot the user named if any.
 * Returns the exported snapshot for the others; owned.
 */
extern char *session_begin_leader(PGconn *conn, const Options *options);

/* A worker's transaction: REPEATABLE READ READ ONLY in the given snapshot. */
extern void session_begin_worker(PGconn *conn, const char *snapshot);

/*
 * --lock-wait-timeout in milliseconds, with the units that the server knows.
 * Five seconds if it was not given or is 0: long enough for whoever holds a
 * lock for a moment.
 */
extern int	session_lock_wait_ms(PGconn *conn, const Options *options);

/*
 * Lock tables in ACCESS SHARE mode until the end of the transaction.  names
 * are qualified and quoted.  Does not queue behind a request for an exclusive
 * lock, which would wait for this program's other sessions: tries again for
 * wait_ms, then exits with a message naming the table.
 */
extern void session_lock_tables(PGconn *conn, char **names, int n_names,
								int wait_ms);

/*
 * Run a statement that returns rows (query) or none (command).  Exits with
 * the server's message when it fails.
 */
extern PGresult *session_query(PGconn *conn, const char *sql);
extern PGresult *session_query_params(PGconn *conn, const char *sql,
									  int n_params, const char *const *params,
									  int result_format);
extern void session_command(PGconn *conn, const char *sql);

#endif							/* CONNECTION_H */

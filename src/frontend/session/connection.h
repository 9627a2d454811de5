/*
 * connection.h
 *		Connections to the server: the leader's, the workers', pg_dump's.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "base/fe_compat.h"

#include "options/options.h"
#include "session/peer_address.h"
#include "session/session.h"

/*
 * How long one attempt to connect may take, unless PGCONNECT_TIMEOUT says
 * otherwise.
 */
#define CONNECTION_ATTEMPT_S 30

/*
 * How many times connection_ask() looks for a pooler that does not keep a
 * server session for each client, unless it is a few; and how many for
 * --check.
 */
#define CONNECTION_CHECK_PROBES 20
extern void connection_set_probes(int n);

/*
 * How many seconds connection_ask() waits for a server that sends nothing,
 * unless --stall-timeout says otherwise; 0 is for ever.
 */
#define CONNECTION_SILENCE_S 60
extern void connection_set_stall_timeout(uint64 seconds);

/*
 * Connect with these parameters.  The connection is returned even if it could
 * not be made.  What the server says before and after it has let us in
 * commands no terminal.
 *
 * The user is asked for a password if the server wants one and there is none,
 * or with -W, unless one was typed before for this server and role
 * (typed_password.h).  After an empty answer there is no second attempt.
 * Unless password_command is NULL, the password is what it prints, and the
 * user is not asked.  Exits with a message if a pooler gives transactions to
 * other backends, for which there is one more session for a moment, or if the
 * server sends nothing for the time of connection_set_stall_timeout().  The
 * search_path is secure in these sessions.
 */
extern PGconn *connection_ask(const ConnParams *params,
							  const char *password_command,
							  const char *progname);

/* Report that connection_ask() failed, in libpq's words. */
extern void connection_report_failure(const PGconn *conn);

/*
 * Connect as the user asked, by connection_ask(); exits with a message on
 * failure.
 */
extern PGconn *connection_open_leader(const Options *options,
									  const char *progname);

/* The same to any server.  password_command may be NULL. */
extern PGconn *connection_open_params(const ConnParams *params,
									  const char *password_command,
									  const char *progname);

/*
 * The same to the database postgres, or else template1, in place of whichever
 * the parameters name.
 */
extern PGconn *connection_open_maintenance(const ConnParams *params,
										   const char *password_command,
										   const char *progname);

/* A PQnoticeProcessor: to standard error, safely. */
extern void connection_show_notice(void *arg, const char *message);

/*
 * Connect to a peer again; the result's settings are the server's defaults.
 * Ends by session_lost() when that fails.
 */
extern PGconn *connection_open_peer(const PeerAddress *address,
									const char *progname);

/*
 * The same, but returns the connection even if it could not be made:
 * connection_words() has the reason.
 */
extern PGconn *connection_try_peer(const PeerAddress *address,
								   const char *progname);

/* The same for replication (of the database), by a walsender. */
extern PGconn *connection_try_replication(const PeerAddress *address,
										  const char *progname);

/*
 * Why a connection to a peer could not be made: libpq's message, or, if there
 * was no password to connect with, what the command has said.  Of the last
 * one that could not be made; borrowed.
 */
extern const char *connection_words(const PGconn *conn);

/* Is it by a Unix-domain socket? */
extern bool connection_is_unix_socket(const PGconn *conn);

/*
 * Is the other end on this machine, by a socket or the loopback interface?
 * An address of this kind means something else elsewhere.
 */
extern bool connection_is_local(const PGconn *conn);

#endif							/* CONNECTION_H */

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
 * connectDatabase(), and PQconnectdbParams() with a name that may be a
 * connection string: what the server says before there is a connection
 * commands no terminal, nor what it says later.
 */
extern PGconn *connection_ask(const ConnParams *params, const char *progname,
							  bool fail_ok);
extern PGconn *connection_try(const char *const *keywords,
							  const char *const *values);

/* Connect as the user asked, prompting for a password at most once. */
extern PGconn *connection_open_leader(const Options *options,
									  const char *progname);

/* The same to any server, as connectDatabase() takes it. */
extern PGconn *connection_open_params(const ConnParams *params,
									  const char *progname);

/*
 * The same to the database postgres, or else template1, in place of whichever
 * the parameters name.
 */
extern PGconn *connection_open_maintenance(const ConnParams *params,
										   const char *progname);

/* A PQnoticeProcessor: to standard error, safely. */
extern void connection_show_notice(void *arg, const char *message);

/*
 * Connect to a peer again; the result's settings are the server's defaults.
 * Ends by session_lost() when that fails.
 */
extern PGconn *connection_open_peer(const PeerAddress *address,
									const char *progname);

/* The same, but returns the connection even if it could not be made. */
extern PGconn *connection_try_peer(const PeerAddress *address,
								   const char *progname);

/* The same for replication (of the database), by a walsender. */
extern PGconn *connection_try_replication(const PeerAddress *address,
										  const char *progname);

/* Is it by a Unix-domain socket? */
extern bool connection_is_unix_socket(const PGconn *conn);

/*
 * Is the other end on this machine, by a socket or the loopback interface?
 * An address of this kind means something else elsewhere.
 */
extern bool connection_is_local(const PGconn *conn);

#endif							/* CONNECTION_H */

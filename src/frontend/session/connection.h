/*
 * connection.h
 *		Connections to the server: the leader's, the workers', pg_dump's.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "base/fe_compat.h"

#include "options/options.h"
#include "process/child_program.h"
#include "session/session.h"

/*
 * How to reach the very server the leader is connected to.  A name may stand
 * for several servers, and a snapshot lives on one: so the address is the one
 * that was reached.
 */
typedef struct PeerAddress
{
	char	   *conninfo;		/* no secret in it: fit for argv and logs */
	ChildSecrets secrets;		/* password is NULL when none was used */
	char	   *tcp_settings;	/* " keyword=value ...": what a program needs
								 * after conninfo to notice a lost peer */
	char	   *private_conninfo;	/* conninfo, these, and all secrets but
									 * the password */
} PeerAddress;

/* Connect as the user asked, prompting for a password at most once. */
extern PGconn *connection_open_leader(const Options *options,
									  const char *progname);

/* A PQnoticeProcessor: to standard error, safely. */
extern void connection_show_notice(void *arg, const char *message);

/*
 * Describe the server of a connection to those who come after; owned.  One
 * that takes rows, and waits for a lock or its disk, does not read meanwhile:
 * it is not given up for that, as tcp_user_timeout would have it (on Linux).
 */
extern PeerAddress *peer_address_new(PGconn *conn, bool takes_rows);

/*
 * Connect to it again; the result's settings are the server's defaults.  Ends
 * by session_lost() when that fails.
 */
extern PGconn *connection_open_peer(const PeerAddress *address,
									const char *progname);

/* The same, but returns the connection even if it could not be made. */
extern PGconn *connection_try_peer(const PeerAddress *address,
								   const char *progname);

/* The same for replication (of the database), by a walsender. */
extern PGconn *connection_try_replication(const PeerAddress *address,
										  const char *progname);

/*
 * Is the other end on this machine, by a socket or the loopback interface?
 * An address of this kind means something else elsewhere.
 */
extern bool connection_is_local(const PGconn *conn);

#endif							/* CONNECTION_H */

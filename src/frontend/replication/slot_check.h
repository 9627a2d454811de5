/*
 * slot_check.h
 *		Can the server make a logical replication slot?
 */
#ifndef SLOT_CHECK_H
#define SLOT_CHECK_H

#include "session/connection.h"

/* The output plugin of the slot that the options ask for; borrowed. */
extern const char *slot_check_plugin(const Options *options);

/*
 * Tell of errors, and mostly a hint, if the server cannot make the slot that
 * the options ask for.  conn is the leader's session, outside of a
 * transaction.  Touches nothing.
 */
extern void slot_check(PGconn *conn, const Options *options);

/*
 * Was this connection for replication made?  If not, tell of an error, and of
 * what the role, or the server, may lack.
 */
extern bool slot_check_opened(PGconn *replication_conn, PGconn *leader_conn);

/* Make one, tell of an error if that fails, and close it. */
extern void slot_check_connection(PGconn *leader_conn,
								  const PeerAddress *address);

#endif							/* SLOT_CHECK_H */

/*
 * subscription_conninfo.h
 *		The way from the target's server to the source.
 */
#ifndef SUBSCRIPTION_CONNINFO_H
#define SUBSCRIPTION_CONNINFO_H

#include "libpq-fe.h"

#include "options/options.h"

/*
 * The connection string of the subscription: what the user gave, else that of
 * the session on the source, without any secret and without what means
 * another thing on another machine.  Exits with a message if the source is
 * local and the target is not.  Owned; may be secret.
 */
extern char *subscription_conninfo(PGconn *source_conn, PGconn *target_conn,
								   const Options *options);

#endif							/* SUBSCRIPTION_CONNINFO_H */

/*
 * cluster_session.h
 *		A session for what concerns a cluster, not one of its databases.
 */
#ifndef CLUSTER_SESSION_H
#define CLUSTER_SESSION_H

#include "libpq-fe.h"

#include "options/options.h"

/*
 * Connect to the database that the user named, be it in a connection string,
 * else to postgres, else to template1, as pg_dumpall does.  Names come and go
 * as the bytes that they are.
 */
extern PGconn *cluster_session_open(const ConnParams *connection,
									const char *password_command,
									const char *progname);

/* None is open while databases have their turn, which may be for hours. */
extern void cluster_session_close(PGconn *conn);

/* The options of every run: for its add_args(). */
extern void cluster_session_add_args(SimpleStringList *args,
									 const Options *options,
									 const char *conninfo);

#endif							/* CLUSTER_SESSION_H */

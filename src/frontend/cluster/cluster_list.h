/*
 * cluster_list.h
 *		The databases of a cluster.
 */
#ifndef CLUSTER_LIST_H
#define CLUSTER_LIST_H

#include "libpq-fe.h"

#include "options/options.h"
#include "session/connection.h"

typedef struct ClusterDatabase
{
	char	   *name;			/* its bytes, in whatever encoding */
	Oid			oid;			/* on the source */
	uint64		bytes;			/* pg_database_size(); 0 if the role may not
								 * ask */
	bool		failed;			/* its run has */
	bool	   *matches;		/* which patterns do: see cluster_filter.c */
} ClusterDatabase;

typedef struct ClusterList
{
	ClusterDatabase *databases; /* the largest first */
	int			n;
} ClusterList;

/*
 * The databases that pg_dumpall would dump: but template0, those that allow
 * no connections, those whose removal was interrupted, and those that a
 * pattern of --exclude-database matches.
 */
extern ClusterList *cluster_list_read(PGconn *conn, const Options *options);

/* Leave out those of a list from elsewhere that such a pattern matches. */
extern void cluster_list_exclude(ClusterList *list, PGconn *conn,
								 const Options *options);

/*
 * Tell of each database of the list that the target has already, but those
 * two, as an error: rows would be there twice.
 */
extern void cluster_list_refuse_existing(const ClusterList *list,
										 PGconn *target);

/*
 * pg_dumpall makes these two by initdb's means: what is in them is restored
 * into those that are there (pg_dumpall.c:dumpDatabases).
 */
extern bool cluster_list_is_initial(const ClusterDatabase *database);

/*
 * How to connect to another database of an address, all secrets included:
 * for no argv that others see; owned.
 */
extern char *cluster_list_conninfo(const PeerAddress *address,
								   const char *database);

#endif							/* CLUSTER_LIST_H */

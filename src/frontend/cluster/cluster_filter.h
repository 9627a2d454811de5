/*
 * cluster_filter.h
 *		Options that name what must be there, if not in every database.
 *
 * -t, -n, --where, --sample and --mask are errors where nothing matches.  Of
 * several databases one that matches is enough, but a mask that is none
 * anywhere must not go unnoticed: so all databases are asked before the first
 * one has its turn, and the run of each is given the tables and schemas that
 * match there.  What does not any more when the turn has come is an error of
 * that run; masks and conditions that match only by then hold all the same.
 */
#ifndef CLUSTER_FILTER_H
#define CLUSTER_FILTER_H

#include "cluster/cluster_list.h"

typedef struct ClusterFilter ClusterFilter;

/*
 * Ask each database of the list what matches there, and leave out those that
 * have nothing of what -t, or else -n, names.  One that cannot be asked is
 * taken to have all, for its run to fail.  Tell of an error, as pg_dump does,
 * for what matches nowhere.  conn is the session whose list and address it
 * is, which is to be the one that signals cancel.  Owned.
 */
extern ClusterFilter *cluster_filter_read(PGconn *conn,
										  const PeerAddress *address,
										  ClusterList *list,
										  const Options *options);

/* For add_args() of a ClusterRun: what is for this database. */
extern void cluster_filter_add_args(const ClusterFilter *filter,
									const ClusterDatabase *database,
									SimpleStringList *args);

#endif							/* CLUSTER_FILTER_H */

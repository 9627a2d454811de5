/*
 * cluster.h
 *		--all-databases: dumps, copies, verifies or restores each database of
 *		a cluster, and the roles and tablespaces that the databases share.
 *
 * Each database is dumped in a snapshot of its own, taken when its turn
 * comes, because PostgreSQL has no snapshot of several databases;
 * --cluster-snapshot takes one for all (cluster_snapshot.h).
 */
#ifndef CLUSTER_H
#define CLUSTER_H

#include "cluster/cluster_run.h"

/*
 * Dump into a directory.  Returns the exit status: 1 if a database could not
 * be dumped, while the others are complete.  Exits with a message if there is
 * no dump at all.
 */
extern int	cluster_dump(const Options *options, const char *argv0,
						 ClusterProgram program);

/*
 * --shared-snapshot: take one snapshot of all databases, and keep it for
 * dumps that other programs start.  Returns the exit status.
 */
extern int	cluster_share_snapshot(const Options *options);

/*
 * --target: copy into another cluster.  Returns the exit status: 1 if there
 * were errors, which have been reported.
 */
extern int	cluster_copy(const Options *options, const char *argv0,
						 ClusterProgram program);

/*
 * --verify: check globals.sql, and the archive of each database.  Returns the
 * exit status: 1 if any is not as it was written, or could not be dumped.
 */
extern int	cluster_verify(const Options *options, const char *argv0,
						   ClusterProgram program);

/*
 * Restore into the cluster of the connection.  Errors are reported, counted
 * and ignored, as in a restore of one database; then the returned exit status
 * is 1.
 */
extern int	cluster_restore(const Options *options, const char *argv0,
							ClusterProgram program);

#endif							/* CLUSTER_H */

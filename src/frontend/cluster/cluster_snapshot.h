/*
 * cluster_snapshot.h
 *		--cluster-snapshot: one snapshot for all databases of a cluster.
 *
 * A guard, a session in each database, takes a snapshot first.  Then one
 * snapshot is taken and exported, and each guard adopts it for its database
 * (pg_pardump_adopt_snapshot(); why no row is lost is in
 * src/server/function/snapshot_function.c).  The run of a database imports
 * what its guard has exported, as it does with --snapshot.  On a standby
 * where a database has no extension, all guards take their snapshots while
 * replay is paused.
 *
 * A guard that is lost cannot be replaced, as rows may have been removed by
 * then: its database fails.  As long as no archive has been begun, all steps
 * are repeated instead.
 */
#ifndef CLUSTER_SNAPSHOT_H
#define CLUSTER_SNAPSHOT_H

#include "archive/manifest.h"
#include "cluster/cluster_list.h"

typedef struct ClusterSnapshot ClusterSnapshot;

/*
 * Read the list of databases, and what the options name in each, and take the
 * snapshot.  *conn is a session of any database, without a transaction, at
 * the address; if it is lost meanwhile, it is another one afterwards.  The
 * list and the filter are as of the snapshot.  Ends with a message, before
 * anything was made, if a database has no extension, or if sessions are lost,
 * or databases are created, again and again.
 */
extern ClusterSnapshot *cluster_snapshot_take(PGconn **conn,
											  const PeerAddress *address,
											  ClusterList *list,
											  ClusterFilter **filter,
											  const Options *options);

/* For the map and the archives; borrowed. */
extern SnapshotRecord *cluster_snapshot_record(const ClusterSnapshot *snapshot);

/*
 * For another program's dump of a database of the list: the name under which
 * its guard has exported the snapshot, and what distinguishes the snapshot
 * from later ones of the same name (session/snapshot.h); borrowed.
 */
extern char *cluster_snapshot_name(const ClusterSnapshot *snapshot, int no);
extern char *cluster_snapshot_identity(const ClusterSnapshot *snapshot);

/*
 * In the process of the run of a database of the list: its arguments.  Exits
 * with a message if the guard is lost.
 */
extern void cluster_snapshot_add_args(const ClusterSnapshot *snapshot, int no,
									  SimpleStringList *args);

/* Before anything was made: are all guards still there? */
extern bool cluster_snapshot_is_kept(ClusterSnapshot *snapshot);

/*
 * In the process that starts the runs: often, while they run; and when the
 * run of a database begins.  A guard that is lost before is a warning.
 */
extern void cluster_snapshot_attend(ClusterSnapshot *snapshot);
extern void cluster_snapshot_begin_run(ClusterSnapshot *snapshot, int no);

/*
 * The run of this database has ended: so does its guard.  And all have ended
 * (NULL: nothing to do).
 */
extern void cluster_snapshot_end_run(ClusterSnapshot *snapshot, int no);
extern void cluster_snapshot_end(ClusterSnapshot *snapshot);

#endif							/* CLUSTER_SNAPSHOT_H */

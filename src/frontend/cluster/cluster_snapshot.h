/*
 * cluster_snapshot.h
 *		--cluster-snapshot: one snapshot for all databases of a cluster.
 *
 * First, a session in each database, a guard, takes a snapshot.  Then one
 * snapshot is taken and exported, and each guard adopts it for its database
 * (pg_pardump_adopt_snapshot(); src/server/function/snapshot_function.c
 * explains why no row is lost).  The run of a database imports the snapshot
 * that its guard has exported, as with --snapshot.  If a database on a
 * standby does not have the extension, all guards take their snapshots while
 * replay is paused.
 *
 * A lost guard cannot be replaced, because rows may have been removed
 * meanwhile: its database fails.  Before the first archive is begun, all
 * steps are repeated instead.
 */
#ifndef CLUSTER_SNAPSHOT_H
#define CLUSTER_SNAPSHOT_H

#include "archive/manifest.h"
#include "cluster/cluster_list.h"

typedef struct ClusterSnapshot ClusterSnapshot;

/*
 * Take the snapshot, and read the list of databases, and the matches of
 * options in each.  *conn is a session in any database, without a
 * transaction, with this address; if it is lost meanwhile, it is replaced.
 * List and filter correspond to the snapshot.  Exits with a message, before
 * anything is created, if a database does not have the extension, or if
 * sessions are lost, or databases created, again and again.
 */
extern ClusterSnapshot *cluster_snapshot_take(PGconn **conn,
											  const PeerAddress *address,
											  ClusterList *list,
											  ClusterFilter **filter,
											  const Options *options);

/* The description of the snapshot for the map and the archives; borrowed. */
extern SnapshotRecord *cluster_snapshot_record(const ClusterSnapshot *snapshot);

/*
 * For another program's dump of a database of the list: the name under which
 * its guard has exported the snapshot, and what distinguishes the snapshot
 * from later ones of the same name (snapshot_expect()); borrowed.
 */
extern char *cluster_snapshot_name(const ClusterSnapshot *snapshot, int no);
extern int	cluster_snapshot_backend(const ClusterSnapshot *snapshot, int no);
extern char *cluster_snapshot_identity(const ClusterSnapshot *snapshot);

/*
 * In the process of a database's run: add its arguments.  Exits with a
 * message if the guard is lost.
 */
extern void cluster_snapshot_add_args(const ClusterSnapshot *snapshot, int no,
									  SimpleStringList *args);

/* Before anything is created: are all guards still connected? */
extern bool cluster_snapshot_is_kept(ClusterSnapshot *snapshot);

/*
 * In the parent: to be called often during the runs, and when the run of a
 * database begins.  Warns if a guard is lost before.
 */
extern void cluster_snapshot_attend(ClusterSnapshot *snapshot);
extern void cluster_snapshot_begin_run(ClusterSnapshot *snapshot, int no);

/*
 * Call these after the run of this database, or as soon as it does not need
 * the snapshot any more, and after all runs.  They end the guard of the
 * database, or all guards.  NULL is ignored.
 */
extern void cluster_snapshot_end_run(ClusterSnapshot *snapshot, int no);
extern void cluster_snapshot_end(ClusterSnapshot *snapshot);

#endif							/* CLUSTER_SNAPSHOT_H */

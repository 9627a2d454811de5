/*
 * shared_snapshot.h
 *		--shared-snapshot: keeps the snapshot of all databases for dumps that
 *		other programs start.
 *
 * A run with --cluster-snapshot takes the snapshot, describes it in a file,
 * and keeps it until its standard input ends.  A dump with --snapshot reads
 * from the file which database and which snapshot it must find.
 */
#ifndef SHARED_SNAPSHOT_H
#define SHARED_SNAPSHOT_H

#include "cluster/cluster_snapshot.h"

/*
 * Create the file, print its path on standard output, and return when
 * standard input has ended.  Each line of standard input is the OID of a
 * database whose guard should end.  The file is removed at the end.
 */
extern void shared_snapshot_keep(ClusterSnapshot *snapshot,
								 const ClusterList *list, const char *path);

/*
 * In a dump: from now on, the snapshot that is imported, and the database,
 * must be those that the file describes for the name of --snapshot.  Exits
 * with a message if the file does not contain this name.
 */
extern void shared_snapshot_expect(const Options *options);

#endif							/* SHARED_SNAPSHOT_H */

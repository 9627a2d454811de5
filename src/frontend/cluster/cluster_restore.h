/*
 * cluster_restore.h
 *		pg_parrestore --all-databases: restores what pg_pardump
 *		--all-databases has dumped.
 */
#ifndef CLUSTER_RESTORE_H
#define CLUSTER_RESTORE_H

#include "cluster/cluster_run.h"

/* ----------
 * --all-databases --target: copies each database of a cluster, and what
 * they share, into another one.
 * ----------
 */

/* Returns the exit status: 1 if there were errors, all told. */
extern int	cluster_copy(const Options *options, const char *argv0,
						 ClusterProgram program);

/* ----------
 * --all-databases --verify: is the dump of a cluster what was written?
 * ----------
 */

/*
 * Verify globals.sql, and the archive of each database.  Returns the exit
 * status: 1 if any is not as it was written, or could not be dumped.
 */
extern int	cluster_verify(const Options *options, const char *argv0,
						   ClusterProgram program);

/*
 * Into the cluster of the connection.  Errors are told, counted and passed
 * over, as in a restore of one database; then the exit status that is
 * returned is 1.
 */
extern int	cluster_restore(const Options *options, const char *argv0,
							ClusterProgram program);

#endif							/* CLUSTER_RESTORE_H */

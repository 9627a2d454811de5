/*
 * cluster_verify.h
 *		--all-databases --verify: is the dump of a cluster what was written?
 */
#ifndef CLUSTER_VERIFY_H
#define CLUSTER_VERIFY_H

#include "cluster/cluster_run.h"

/*
 * Verify globals.sql, and the archive of each database.  Returns the exit
 * status: 1 if any is not as it was written, or could not be dumped.
 */
extern int	cluster_verify(const Options *options, const char *argv0,
						   ClusterProgram program);

#endif							/* CLUSTER_VERIFY_H */

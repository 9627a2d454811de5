/*
 * cluster_dump.h
 *		--all-databases: dumps or copies each database of a cluster, and what
 *		they share.
 *
 * One snapshot of several databases is nothing that PostgreSQL has: each is
 * dumped in its own, taken when its turn comes.
 */
#ifndef CLUSTER_DUMP_H
#define CLUSTER_DUMP_H

#include "cluster/cluster_run.h"

/*
 * Into a directory.  Returns the exit status: 1 if a database could not be
 * dumped, while the others are complete.  Exits with a message if there is no
 * dump at all.
 */
extern int	cluster_dump(const Options *options, const char *argv0,
						 ClusterProgram program);

#endif							/* CLUSTER_DUMP_H */

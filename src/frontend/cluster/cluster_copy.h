/*
 * cluster_copy.h
 *		--all-databases --target: copies each database of a cluster, and what
 *		they share, into another one.
 */
#ifndef CLUSTER_COPY_H
#define CLUSTER_COPY_H

#include "cluster/cluster_run.h"

/* Returns the exit status: 1 if there were errors, all told. */
extern int	cluster_copy(const Options *options, const char *argv0,
						 ClusterProgram program);

#endif							/* CLUSTER_COPY_H */

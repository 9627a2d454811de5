/*
 * cluster_restore.h
 *		pg_parrestore --all-databases: restores what pg_pardump
 *		--all-databases has dumped.
 */
#ifndef CLUSTER_RESTORE_H
#define CLUSTER_RESTORE_H

#include "cluster/cluster_run.h"

/*
 * Into the cluster of the connection.  Errors are told, counted and passed
 * over, as in a restore of one database; then the exit status that is
 * returned is 1.
 */
extern int	cluster_restore(const Options *options, const char *argv0,
							ClusterProgram program);

#endif							/* CLUSTER_RESTORE_H */

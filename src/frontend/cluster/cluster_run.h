/*
 * cluster_run.h
 *		Runs this program for each database of a cluster.
 *
 * Each run is a forked process, which calls the program's main() again with a
 * new command line.  No other process can see this command line, so it may
 * contain passwords.  At most --jobs runs are active at a time, and together
 * they have at most --jobs workers (worker_slots.h).
 */
#ifndef CLUSTER_RUN_H
#define CLUSTER_RUN_H

#include "cluster/cluster_snapshot.h"

/* The function that runs the program with a command line. */
typedef int (*ClusterProgram) (int argc, char **argv);

typedef struct ClusterRun
{
	ClusterProgram program;
	const char *argv0;
	const char *failure;		/* a message, with %s for the database */
	bool		one_by_one;		/* run one after the other, so that their
								 * output is not mixed */
	const ClusterList *list;
	ClusterSnapshot *snapshot;	/* of all databases, or NULL */
	void	   *arg;			/* argument of the callbacks */

	/* Adds the arguments for this database, after all options. */
	void		(*add_args) (void *arg, int no, SimpleStringList *args);

	/*
	 * Removes the incomplete results of a failed run.  Returns true if they
	 * are complete in spite of the failure, and are kept.  May be NULL.
	 */
	bool		(*clean_up) (void *arg, int no);
} ClusterRun;

/*
 * Run it for all databases of the list, and note which have failed.  Returns
 * their number.  Databases that have failed before, in the dump, come first
 * in the list.  They are counted, but not run.
 */
extern int	cluster_run(const ClusterRun *run, const Options *options);

#endif							/* CLUSTER_RUN_H */

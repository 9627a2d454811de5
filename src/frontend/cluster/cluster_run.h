/*
 * cluster_run.h
 *		Runs this program for each database of a cluster.
 *
 * Each run is a process of its own, forked, which calls the program's main()
 * again with a command line that was made for it, and that no other process
 * sees: there are passwords in it.  At most --jobs of them run at a time, and
 * together they have at most --jobs workers (worker_slots.h).
 */
#ifndef CLUSTER_RUN_H
#define CLUSTER_RUN_H

#include "cluster/cluster_snapshot.h"

/* What main() does with a command line. */
typedef int (*ClusterProgram) (int argc, char **argv);

typedef struct ClusterRun
{
	ClusterProgram program;
	const char *argv0;
	const char *failure;		/* a message, with %s for the database */
	bool		one_by_one;		/* so that what they print does not mix */
	const ClusterList *list;
	ClusterSnapshot *snapshot;	/* of all of them; or NULL */
	void	   *arg;			/* given to the callbacks */

	/* What the run for this database is to be given, besides all options. */
	void		(*add_args) (void *arg, int no, SimpleStringList *args);

	/*
	 * It has failed: remove what it may have left.  True if that is complete
	 * in spite of the failure, and stays.  Or NULL.
	 */
	bool		(*clean_up) (void *arg, int no);
} ClusterRun;

/*
 * Run it for all databases of the list, and note which have failed.  Returns
 * how many have.
 */
extern int	cluster_run(const ClusterRun *run, const Options *options);

#endif							/* CLUSTER_RUN_H */

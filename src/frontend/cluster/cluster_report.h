/*
 * cluster_report.h
 *		--report and --metrics of all databases: a page and a file for each,
 *		which its run makes as always.
 *
 * Pages are in a directory.  Files of metrics stand beside the one that tells
 * of the whole run, and whose name theirs begin with.  What is a database's
 * has its OID in its name.
 */
#ifndef CLUSTER_REPORT_H
#define CLUSTER_REPORT_H

#include "cluster/cluster_list.h"

/*
 * Make the directory of --report, if it is not there, and begin the metrics
 * of the whole run (see metrics_begin()).  Exits with a message if they
 * cannot be.  To be called first.
 */
extern void cluster_report_begin(const Options *options);

/* These are the databases; the list is to live as long as the process. */
extern void cluster_report_note_list(const ClusterList *list);

/* Where this database's run writes page and metrics: for its arguments. */
extern void cluster_report_add_args(const Options *options,
									const ClusterDatabase *database,
									SimpleStringList *args);

#endif							/* CLUSTER_REPORT_H */

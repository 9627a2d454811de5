/*
 * cluster_account.h
 *		Output about the runs of all databases: progress, a line for each
 *		database, the summary, events, metrics and the page of --report.
 *
 * The runs pass their figures in shared memory (process/run_figures.h).
 */
#ifndef CLUSTER_ACCOUNT_H
#define CLUSTER_ACCOUNT_H

#include "archive/manifest.h"
#include "cluster/cluster_list.h"
#include "process/run_figures.h"

/* The operation on each database; it determines which figures there are. */
typedef enum ClusterCommand
{
	CLUSTER_DUMP,
	CLUSTER_COPY,
	CLUSTER_RESTORE,
	CLUSTER_VERIFY,
	CLUSTER_CHECK				/* --check and --dry-run of a dump */
} ClusterCommand;

/* The state of the run of a database. */
typedef enum ClusterState
{
	CLUSTER_WAITS = 0,
	CLUSTER_RUNS,
	CLUSTER_COMPLETE,
	CLUSTER_FAILED
} ClusterState;

typedef struct ClusterAccount
{
	ClusterCommand command;
	const Options *options;
	const ClusterList *list;
	const SnapshotRecord *snapshot; /* of all databases, or NULL */
	const char *target;			/* of a copy: the name of the server */
	const char *connections;	/* of --check: the line about connections */
	RunFigures *figures;		/* by database, shared with the runs */
	ClusterState *states;		/* by database */
	int64	   *start_us;		/* by database, microseconds since 1970 */
	int64	   *end_us;
	int			n_ended;
} ClusterAccount;

/*
 * Begin the output of --metrics, --log-json and --report about the whole run;
 * the runs of databases add files of their own.  Must be called first.  Exits
 * with a message if the log or the page cannot be written.
 */
extern void cluster_account_open(const Options *options, ClusterCommand command);

/*
 * Write the event of the snapshot of all databases, which is borrowed.  NULL
 * is ignored.
 */
extern void cluster_account_note_snapshot(const SnapshotRecord *snapshot);

/*
 * The name of the server to which databases are copied, for the summary, and
 * the line about connections, for --check of a dump.  Both are borrowed.
 */
extern void cluster_account_note_target(const char *target);
extern void cluster_account_note_connections(const char *connections);

/*
 * Call this when the list of databases is known, before the runs.  Begins the
 * line of progress, if progress is shown.
 */
extern ClusterAccount *cluster_account_begin(const ClusterList *list);

/* Add the arguments of the run of a database: its own page and metrics. */
extern void cluster_account_add_args(const Options *options,
									 const ClusterDatabase *database,
									 SimpleStringList *args);

/*
 * Call these when the run of a database begins, and when it has ended,
 * successfully or not.
 */
extern void cluster_account_note_begin(ClusterAccount *account, int no);
extern void cluster_account_note_end(ClusterAccount *account, int no,
									 ClusterState state);

/* Call this often.  Gives the hint about jobs, once, when it is due. */
extern void cluster_account_advise(ClusterAccount *account);

/* Call this after all runs.  Writes the summary, its event, and the page. */
extern void cluster_account_end(ClusterAccount *account);

#endif							/* CLUSTER_ACCOUNT_H */

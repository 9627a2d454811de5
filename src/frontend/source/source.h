/*
 * source.h
 *		The server that rows are read from: the connections of the leader and
 *		of the workers of a dump, or of a direct copy.
 *
 * The leader is the process that the user has started.  Its session takes the
 * snapshot and the locks on all tables.  LeaderSession contains what is
 * needed to replace that session if it is lost.
 *
 * A worker is a process that the leader forks (process/worker_pool.h).  Its
 * session, a WorkerSession, reads in the same snapshot.  If no worker can get
 * the lock of a table, the leader reads the table in its own session.
 *
 * With --also-from there are several standbys, which have the same snapshot
 * (source/standby.h), and each worker reads from one of them.
 */
#ifndef SOURCE_H
#define SOURCE_H

#include "replication/logical_slot.h"
#include "source/source_check.h"
#include "source/standby.h"
#include "source/worker_state.h"

typedef struct LeaderSession LeaderSession;

typedef struct Source
{
	const Options *options;
	const PeerAddress *address;
	const LogicalSlot *slot;	/* whose snapshot is used, or NULL */
	Standbys   *standbys;		/* this server and others; NULL = no others */

	/* members that only the leader uses */
	PGconn	   *conn;			/* has the snapshot, and all locks; NULL while
								 * it is lost (leader_session.h) */
	PGconn	   *second;			/* to look for changed tables, if a connection
								 * was left while pg_dump ran; or NULL */
	ServerRights rights;		/* of this connection's role */
	LeaderSession *session;		/* keeps conn, from the start of the workers
								 * on */
	const char *snapshot;		/* the name under which conn has exported it,
								 * for workers */
	char	   *exporter_query; /* finds the exporter of an imported snapshot
								 * (snapshot.h), or NULL */
	bool		on_standby;		/* conn's snapshot was taken in recovery */
	WalHistory *history;		/* for the next incremental dump; or NULL */
	WorkerState *states;		/* --jobs workers and their exported
								 * snapshots, in shared memory */
	bool		keep_snapshot;	/* also after all jobs are done */
	bool	   *reported;		/* by table: has a message said that no worker
								 * can lock it? */
} Source;

/* Returns how many of the --jobs workers read from each server. */
static inline int
source_share(const Source *source)
{
	int			n = source->standbys ? source->standbys->n : 1;

	return (source->options->jobs + n - 1) / n;
}

#endif							/* SOURCE_H */

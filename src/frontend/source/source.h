/*
 * source.h
 *		The server that rows are read from: how the leader and the workers of
 *		a dump, or of a direct copy, reach it.
 *
 * The leader is the process that the user has started.  Its session takes the
 * snapshot and the locks on all tables; LeaderSession is what it takes to
 * have such a session again if it is lost.
 *
 * A worker is a process that the leader forks (process/worker_pool.h).  Its
 * session, a WorkerSession, reads in the same snapshot.  What no worker can
 * read, because it does not get a lock, is read in the leader's session.
 *
 * With --also-from the server is one of several standbys, which have the same
 * snapshot (source/standby.h), and each worker reads from one of them.
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
	const LogicalSlot *slot;	/* that the snapshot is of, or NULL */
	Standbys   *standbys;		/* this and others; NULL = no others */

	/* In the leader */
	PGconn	   *conn;			/* has the snapshot, and all locks; NULL while
								 * it is lost (leader_session.h) */
	PGconn	   *second;			/* to look for changed tables, if there was
								 * room beside pg_dump's; or NULL */
	ServerRights rights;		/* of this connection's role */
	LeaderSession *session;		/* keeps it, once workers are to start */
	const char *snapshot;		/* as this connection has exported it, for
								 * workers */
	char	   *exporter_query; /* of the snapshot that was imported on a
								 * standby (snapshot.h); NULL = none was */
	WalHistory *history;		/* for the next incremental dump; or NULL */
	WorkerState *states;		/* who has it, by worker: --jobs of them, in
								 * shared memory */
	bool		keep_snapshot;	/* when all jobs are done, too */
	bool	   *reported;		/* by table, that no worker can lock it */
} Source;

/* Of the jobs that go on at a time, how many are a server's. */
static inline int
source_share(const Source *source)
{
	int			n = source->standbys ? source->standbys->n : 1;

	return (source->options->jobs + n - 1) / n;
}

#endif							/* SOURCE_H */

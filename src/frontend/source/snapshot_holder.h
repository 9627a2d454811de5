/*
 * snapshot_holder.h
 *		What workers tell the leader of their sessions, in memory they share.
 */
#ifndef SNAPSHOT_HOLDER_H
#define SNAPSHOT_HOLDER_H

#include "plan/server_extension.h"
#include "session/session.h"
#include "session/session_loss.h"

/* A name as pg_export_snapshot() gives it, with room to spare. */
#define SNAPSHOT_NAME_BYTES 64

/* A worker, as the leader sees it. */
typedef struct SnapshotHolder
{
	bool		running;
	int			server;			/* of Source.standbys that it reads from */
	char		name[SNAPSHOT_NAME_BYTES];	/* of its export, or "" */
	pid_t		pid;			/* 0 until it runs */
	int			backend;		/* 0 until it has one */
	WaitCount	waits;

	/* for the leader alone */
	bool		vanished;		/* its export has, though it runs */
	uint64		last_wait;		/* waits as seen last */
	int64		unchanged_ms;	/* time that was seen to pass since then */
} SnapshotHolder;

/* In shared memory, for as long as the process; all zero. */
extern SnapshotHolder *snapshot_holders_new(int n);

/* A worker's process is about to be forked, to read from this server. */
extern void snapshot_holder_begin(SnapshotHolder *holder, int server);

/* In that process, at first: let the leader see its waits for the server. */
extern void snapshot_holder_start(SnapshotHolder *holder);

/* In a worker, once it has a session: let the leader know its backend. */
extern void snapshot_holder_connected(SnapshotHolder *holder, PGconn *conn);

/*
 * The same, and begin its transaction in the snapshot
 * (see snapshot_begin_worker()).
 */
extern void snapshot_holder_join(SnapshotHolder *holder, PGconn *conn,
								 const char *snapshot, const char *identity);

/*
 * Then, when the transaction holds the extension, unless that is missing:
 * offer the snapshot to others.  extension is NULL if it need not be checked
 * (plan/dump_plan.h).
 */
extern void snapshot_holder_offer(SnapshotHolder *holder, PGconn *conn,
								  const ServerExtension *extension);

/*
 * Exit with a message if none of them can have the snapshot, or get it soon.
 */
extern void snapshot_holders_check(const SnapshotHolder *holders, int n);

/* Let those that are stopped go on. */
extern void snapshot_holders_wake(const SnapshotHolder *holders, int n);

/*
 * Begin a transaction in the snapshot, which has the identity (see
 * snapshot.h), with the help of any that has it.  False, without a
 * transaction, if none has.
 */
extern bool snapshot_holders_import(SnapshotHolder *holders, int n,
									PGconn *conn, const char *identity);

/* How many run that read from this server. */
extern int	snapshot_holders_count(const SnapshotHolder *holders, int n,
								   int server);

/* The processes of their backends: "1,2"; owned. */
extern char *snapshot_holders_backends(const SnapshotHolder *holders, int n,
									   int server);

/*
 * For how long has it been at the same wait for the server, or not been
 * waiting at all?  To be asked again and again, with the milliseconds since
 * the last time.
 */
extern int64 snapshot_holder_unchanged_ms(SnapshotHolder *holder,
										  int64 elapsed_ms);

/*
 * As it was when this was asked last: was it waiting, and is at that wait
 * yet?
 */
extern bool snapshot_holder_waits(const SnapshotHolder *holder);

#endif							/* SNAPSHOT_HOLDER_H */

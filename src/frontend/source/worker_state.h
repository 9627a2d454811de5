/*
 * worker_state.h
 *		What workers tell the leader of their sessions, in memory they share.
 */
#ifndef WORKER_STATE_H
#define WORKER_STATE_H

#include "plan/server_extension.h"
#include "session/session_lost.h"

/* A name as pg_export_snapshot() gives it, with room to spare. */
#define SNAPSHOT_NAME_BYTES 64

/* A worker, as the leader sees it. */
typedef struct WorkerState
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
} WorkerState;

/* In shared memory, for as long as the process; all zero. */
extern WorkerState *worker_states_new(int n);

/* A worker's process is about to be forked, to read from this server. */
extern void worker_state_begin(WorkerState *state, int server);

/* In that process, at first: let the leader see its waits for the server. */
extern void worker_state_start(WorkerState *state);

/* In a worker, once it has a session: let the leader know its backend. */
extern void worker_state_connected(WorkerState *state, PGconn *conn);

/*
 * Then, when the transaction holds the extension, unless that is missing:
 * offer the snapshot to others.  extension is NULL if it need not be checked
 * (plan/dump_plan.h).
 */
extern void worker_state_offer(WorkerState *state, PGconn *conn,
							   const ServerExtension *extension);

/*
 * Exit with a message if none of them can have the snapshot, or get it soon.
 */
extern void worker_states_check(const WorkerState *states, int n);

/* Let those that are stopped go on. */
extern void worker_states_wake(const WorkerState *states, int n);

/*
 * Begin a transaction in the snapshot, which has the identity (see
 * snapshot.h), with the help of any that has it.  False, without a
 * transaction, if none has.
 */
extern bool worker_states_import(WorkerState *states, int n,
								 PGconn *conn, const char *identity);

/* How many run that read from this server. */
extern int	worker_states_count(const WorkerState *states, int n, int server);

/* The processes of their backends: "1,2"; owned. */
extern char *worker_states_backends(const WorkerState *states, int n,
									int server);

/*
 * For how long has it been at the same wait for the server, or not been
 * waiting at all?  To be asked again and again, with the milliseconds since
 * the last time.
 */
extern int64 worker_state_unchanged_ms(WorkerState *state, int64 elapsed_ms);

/*
 * As it was when this was asked last: was it waiting, and is at that wait
 * yet?
 */
extern bool worker_state_waits(const WorkerState *state);

#endif							/* WORKER_STATE_H */

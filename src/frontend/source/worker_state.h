/*
 * worker_state.h
 *		State of the workers' sessions, in memory that workers share with the
 *		leader.
 *
 * The leader uses it to find workers that wait for too long, and to import
 * the snapshot from a worker if its own session is lost.
 */
#ifndef WORKER_STATE_H
#define WORKER_STATE_H

#include "plan/server_extension.h"
#include "session/session_lost.h"

/* Room for a name from pg_export_snapshot(), and some more. */
#define SNAPSHOT_NAME_BYTES 64

/* The state of one worker. */
typedef struct WorkerState
{
	bool		running;
	int			server;			/* number of the server in Source.standbys */
	char		name[SNAPSHOT_NAME_BYTES];	/* of its snapshot, or "" */
	pid_t		pid;			/* of the process; 0 until it runs */
	int			backend;		/* process ID of its backend, or 0 */
	WaitCount	waits;
	bool		no_snapshot;	/* it has found that its server's snapshot
								 * cannot be used anymore */

	/* members that only the leader uses */
	bool		vanished;		/* its exported snapshot is gone, though it
								 * runs */
	uint64		last_wait;		/* value of waits, as last seen */
	int64		unchanged_ms;	/* for how long it has not changed */
} WorkerState;

/*
 * The states of n workers, in shared memory, all zero.  They exist as long as
 * the process.
 */
extern WorkerState *worker_states_new(int n);

/* Call this before a worker is forked that will read from this server. */
extern void worker_state_begin(WorkerState *state, int server);

/*
 * In the worker, first of all: make its waits for the server visible to the
 * leader.
 */
extern void worker_state_start(WorkerState *state);

/* In the worker, after it has connected: note its backend for the leader. */
extern void worker_state_connected(WorkerState *state, PGconn *conn);

/*
 * In the worker, when the transaction holds the extension, unless that is
 * missing: export the snapshot and publish its name.  extension is NULL if
 * the snapshot need not be checked (plan/dump_plan.h).
 */
extern void worker_state_offer(WorkerState *state, PGconn *conn,
							   const ServerExtension *extension);

/* Exits with a message if no worker has the snapshot, or may get it soon. */
extern void worker_states_check(const WorkerState *states, int n);

/* Continue workers that were stopped. */
extern void worker_states_wake(const WorkerState *states, int n);

/*
 * Begin a transaction in the snapshot with this identity (see snapshot.h), by
 * importing it from any worker that has it.  Returns false, without a
 * transaction, if none has.
 */
extern bool worker_states_import(WorkerState *states, int n,
								 PGconn *conn, const char *identity);

/* Returns how many workers are running that read from this server. */
extern int	worker_states_count(const WorkerState *states, int n, int server);

/* The process IDs of their backends, as "1,2"; owned. */
extern char *worker_states_backends(const WorkerState *states, int n,
									int server);

/*
 * For how long has the worker been in the same wait for the server, or not
 * been waiting?  To be called often, with the milliseconds since the last
 * call.
 */
extern int64 worker_state_unchanged_ms(WorkerState *state, int64 elapsed_ms);

/*
 * Was the worker waiting at the last call of worker_state_unchanged_ms(), and
 * is it still in the same wait?
 */
extern bool worker_state_waits(const WorkerState *state);

#endif							/* WORKER_STATE_H */

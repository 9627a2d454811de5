/*
 * worker_session.h
 *		A worker's session on the server that rows are read from.
 *
 * A worker opens it once, and reads one job after the other in it, in the
 * leader's snapshot.
 */
#ifndef WORKER_SESSION_H
#define WORKER_SESSION_H

#include "source/source.h"
#include "status/run.h"

typedef struct WorkerSession WorkerSession;

/*
 * Connect as worker number no, and import the snapshot.  Exits with a message
 * on failure.  For WORKER_IS_LEADER the session is the leader's own, which
 * has the snapshot and all locks: for jobs whose tables no worker can lock.
 */
extern WorkerSession *worker_session_open(const Source *source, const Run *run,
										  int no);

/* The connection of the session; borrowed. */
extern PGconn *worker_session_conn(const WorkerSession *session);

/*
 * Name the session after a job, and lock its tables.  (The leader holds every
 * lock, but reading takes the session's own.)  Does not wait: returns false
 * if a table cannot be locked, and another session must do the job.
 */
extern bool worker_session_begin_job(WorkerSession *session, const Job *job);

/* Give up the locks of a job that was begun or refused. */
extern void worker_session_end_job(WorkerSession *session);

/*
 * Read the rows of a data file in COPY's text format, or in its binary
 * format, with the extension if the plan says so.  Returns their number.
 */
extern uint64 worker_session_read_text(WorkerSession *session,
									   const DataFile *file, Sink *sink);
extern uint64 worker_session_read_binary(WorkerSession *session,
										 const DataFile *file, Sink *sink);

/*
 * Read the rows as text that the extension compresses as the plan says.
 * *raw_bytes is the size before compression.
 */
extern uint64 worker_session_read_compressed(WorkerSession *session,
											 const DataFile *file, Sink *sink,
											 uint64 *raw_bytes);

/*
 * Read the rows as raw tuples, with one write for each block, compressed by
 * the extension as requested ("none", "lz4:0", ...). *raw_bytes is the size
 * before compression.
 */
extern uint64 worker_session_read_raw(WorkerSession *session,
									  const DataFile *file, Sink *sink,
									  const char *compression,
									  uint64 *raw_bytes);

/* Disconnect.  The leader's session stays open. */
extern void worker_session_close(WorkerSession *session);

#endif							/* WORKER_SESSION_H */

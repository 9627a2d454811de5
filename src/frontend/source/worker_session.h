/*
 * worker_session.h
 *		A worker's session on the server that is dumped or copied from.
 */
#ifndef WORKER_SESSION_H
#define WORKER_SESSION_H

#include "source/source.h"
#include "status/run.h"

typedef struct WorkerSession WorkerSession;

/*
 * Connect, and import the snapshot, as worker number no.  Exits with a
 * message on failure.  For WORKER_IS_LEADER the session is the leader's own,
 * which has the snapshot and all locks: for jobs whose tables no worker can
 * lock.
 */
extern WorkerSession *worker_session_open(const Source *source, const Run *run,
										  int no);

/* Its connection; borrowed. */
extern PGconn *worker_session_conn(const WorkerSession *session);

/*
 * Name the session after a job, and lock its tables.  The leader holds every
 * lock, but a session's reads wait for its own.  Does not wait: false if one
 * cannot be locked, and the job is another session's to do.
 */
extern bool worker_session_begin_job(WorkerSession *session, const Job *job);

/* Give back the locks of a job that was begun or refused. */
extern void worker_session_end_job(WorkerSession *session);

/*
 * Read the rows of a data file as COPY text or in COPY's binary format, by
 * the extension if the plan says so.  Returns their number.
 */
extern uint64 worker_session_read_text(WorkerSession *session,
									   const DataFile *file, Sink *sink);
extern uint64 worker_session_read_binary(WorkerSession *session,
										 const DataFile *file, Sink *sink);

/*
 * The same as text by the extension, which compresses it as the plan says.
 * *raw_bytes is what it was before.
 */
extern uint64 worker_session_read_compressed(WorkerSession *session,
											 const DataFile *file, Sink *sink,
											 uint64 *raw_bytes);

/*
 * The same as raw tuples by the extension, a block a write, compressed as
 * asked ("none", "lz4:0", ...).  *raw_bytes is what they were before.
 */
extern uint64 worker_session_read_raw(WorkerSession *session,
									  const DataFile *file, Sink *sink,
									  const char *compression,
									  uint64 *raw_bytes);

/* Disconnect; a session that is the leader's is left to it. */
extern void worker_session_close(WorkerSession *session);

#endif							/* WORKER_SESSION_H */

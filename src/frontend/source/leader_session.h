/*
 * leader_session.h
 *		The leader's session while workers work: holder of the snapshot and of
 *		the locks on all tables, replaced if it is lost.
 *
 * A snapshot can be imported as long as a session that exported it lives.  So
 * every worker exports what it has imported, and tells the leader by memory
 * they share.  If the leader's session is lost it connects again, imports the
 * snapshot from a worker, locks all tables anew, and makes sure that none was
 * changed while it had no lock.  Until that is done no worker gets a job or
 * leaves.  If no session has the snapshot any more the run ends: what it has
 * not read yet cannot be read, and no other snapshot will do.
 *
 * On a standby it is not replaced.  Replay waits for, and then cancels, the
 * sessions that have a snapshot when it finds that it must remove rows which
 * they could see (procarray.c:GetConflictingVirtualXIDs); who imports the
 * snapshot after that is not among them, and would miss these rows in
 * silence.  The first session is always among them: so what workers read is
 * right as long as that lives.
 */
#ifndef LEADER_SESSION_H
#define LEADER_SESSION_H

#include "process/worker_pool.h"
#include "source/source.h"

/*
 * Take care of the source's connection, which has all locks, from now on: it
 * is replaced there.  The plan must outlive it.
 */
extern void leader_session_begin(Source *source, const DumpPlan *plan);

/* For the pool (see PoolWatch): what to wait for, or -1. */
extern int	leader_session_watch_fd(const LeaderSession *session);

/*
 * For the pool, several times a second: notice the end of the session, or try
 * to replace it.  False while there is none.  Workers that wait in vain for
 * longer than --stall-timeout are ended, to be replaced.  When all jobs are
 * done workers that are stopped go on, so that they leave, and the
 * transaction is ended if it may be, whose success proves that the session
 * has held its locks all the time.  Exits with a message when the snapshot or
 * hope is lost.
 */
extern bool leader_session_attend(LeaderSession *session, bool all_done,
								  bool may_end);

/*
 * Do a job in this session while all workers wait for one: start, run and
 * stop of the task, here.  False if it was lost meanwhile, or the job's other
 * connection was: then the session is replaced, as it may be in the midst of
 * anything.  Exits with a message after so many losses as --retries allows,
 * on a standby, and where commands may have got a part of a file (--pipe).
 */
extern bool leader_session_do(LeaderSession *session, const WorkerTask *task,
							  int job);

/* For the pool: a worker's process is about to be forked, or is gone. */
extern void leader_session_worker_begins(LeaderSession *session, int worker);
extern void leader_session_worker_is_gone(LeaderSession *session, int worker);

/*
 * In a worker, at first: let the leader see when it waits for the server.
 * Closes what it has of the leader's connection.
 */
extern void leader_session_begin_worker(LeaderSession *session, int worker);

/*
 * In a worker, after it has connected: begin its transaction in the snapshot,
 * and offer that to others.
 */
extern void leader_session_join(LeaderSession *session, int worker,
								PGconn *conn);

#endif							/* LEADER_SESSION_H */

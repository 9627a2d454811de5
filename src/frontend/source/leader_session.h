/*
 * leader_session.h
 *		The leader's session while workers read rows: it holds the snapshot
 *		and the locks on all tables, and is replaced if it is lost.
 *
 * A snapshot can be imported as long as a session that exported it lives.  So
 * every worker exports the snapshot that it has imported, and passes the name
 * to the leader in shared memory.  If the leader's session is lost, the
 * leader connects again, imports the snapshot from a worker, locks all tables
 * again, and checks that no table was changed while it was not locked.  Until
 * this is done workers neither get jobs nor leave.  If no session has the
 * snapshot any more, the run ends, because the remaining rows cannot be read
 * in any other snapshot.
 *
 * On a standby the session is not replaced.  When replay must remove rows, it
 * determines which sessions have snapshots that see these rows, waits for
 * them, and finally cancels them (procarray.c:GetConflictingVirtualXIDs()).
 * A session that imports the snapshot later is not among them, so it would
 * miss these rows without an error.  The first session is always among them.
 * So as long as the first session lives, all rows that workers read are
 * correct.
 */
#ifndef LEADER_SESSION_H
#define LEADER_SESSION_H

#include "process/worker_pool.h"
#include "source/source.h"

/* ----------
 * Ends waits of the leader for a source server that sends nothing.
 *
 * While workers read rows, the leader watches them.  But no process watches
 * the leader while it plans or replaces its session.  So the leader itself
 * asks, in another connection, what its backend is doing.  The session counts
 * as lost if the server has sent nothing for --stall-timeout and the backend
 * is idle, or if more queries in a row than --retries allows got no answer.
 * Then the wait ends with session_lost().
 * ----------
 */

/*
 * Watch the statements in this session of the leader's from now on, unless
 * --stall-timeout is 0.  The address must exist until the process ends.
 */
extern void leader_watchdog_watch(PGconn *conn, const PeerAddress *address,
								  const Options *options);

/*
 * Call this before the leader itself reads rows: these waits are watched in
 * the same way, and progress is shown meanwhile.
 */
extern void leader_watchdog_watch_rows(void);

/*
 * Keep and replace the source's connection from now on, which has all locks.
 * The plan must exist as long as the source.
 */
extern void leader_session_begin(Source *source, const DumpPlan *plan);

/*
 * Call this several times a second.  Notices the end of the session, and
 * tries to replace it.  Exits with a message if the snapshot is lost, or
 * after as many attempts as --retries allows.
 */
extern void leader_session_keep(LeaderSession *session);

/*
 * Run a short query in this session (see session_look()).  Returns NULL if
 * the session was lost.  The "silently" variant does not show the server's
 * warnings.
 */
extern PGresult *leader_session_look(LeaderSession *session,
									 const char *query);
extern PGresult *leader_session_look_silently(LeaderSession *session,
											  const char *query);

/*
 * Check from time to time whether the snapshot is so old that vacuum cannot
 * remove dead rows, and warn if it is.
 */
extern void leader_session_check_age(LeaderSession *session);

/*
 * Do a job in this session while all workers wait for a job: the task's
 * functions start, run and stop are called here.  Returns false if this
 * session, or another connection of the job, was lost.  Then the session is
 * replaced, because it may be in any state.  Exits with a message after as
 * many losses as --retries allows, and after the first one on a standby, with
 * --tasks, and with --pipe, where a command may already have got a part of
 * the file.
 */
extern bool leader_session_do(LeaderSession *session, const WorkerTask *task,
							  int job);

/*
 * Call this when all jobs are done.  Ends the transaction, unless the session
 * is lost.  Exits with a message if a schema was renamed, so that a table's
 * name led to another table.
 */
extern void leader_session_finish(LeaderSession *session);
extern bool leader_session_is_finished(const LeaderSession *session);

#endif							/* LEADER_SESSION_H */

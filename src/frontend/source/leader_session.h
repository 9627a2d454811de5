/*
 * leader_session.h
 *		The leader's session while workers work: holder of the snapshot and of
 *		the locks on all tables, replaced if it is lost.
 *
 * A snapshot can be imported as long as a session that exported it lives.  So
 * every worker exports what it has imported, and tells the leader by memory
 * they share.  If the leader's session is lost it connects again, imports the
 * snapshot from a worker, locks all tables again, and makes sure that none
 * was changed while it had no lock.  Until that is done no worker gets a job
 * or leaves.  If no session has the snapshot any more the run ends: what it
 * has not read yet cannot be read, and no other snapshot will do.
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

/* ----------
 * Ends waits of the leader for a source server that stays silent.
 *
 * While workers work, their leader watches them; no process watches the
 * leader while it plans or takes a new session.  So it asks by itself, in
 * another connection, what its backend does.  If the server has sent nothing
 * for --stall-timeout, and the session has nothing else to do, or cannot be
 * asked about as many times in a row as --retries allows, it is lost: the
 * wait ends by session_lost().
 * ----------
 */

/*
 * Watch the statements in this session of the leader's from now on, unless
 * --stall-timeout is 0.  The address is borrowed for as long as the process.
 */
extern void leader_watchdog_watch(PGconn *conn, const PeerAddress *address,
								  const Options *options);

/*
 * From now on the leader reads rows itself: its waits are watched likewise,
 * and progress is shown meanwhile.
 */
extern void leader_watchdog_watch_rows(void);

/*
 * Take care of the source's connection, which has all locks, from now on: it
 * is replaced there.  The plan must outlive it.
 */
extern void leader_session_begin(Source *source, const DumpPlan *plan);

/*
 * Several times a second: notice the end of the session, or try to replace
 * it.  Exits with a message when the snapshot or hope is lost.
 */
extern void leader_session_keep(LeaderSession *session);

/*
 * Look at the server in this session (see session_look()).  NULL if it is
 * lost by now.  Silently: without the server's warnings.
 */
extern PGresult *leader_session_look(LeaderSession *session,
									 const char *query);
extern PGresult *leader_session_look_silently(LeaderSession *session,
											  const char *query);

/* At times: warn if the snapshot keeps vacuum from its work. */
extern void leader_session_check_age(LeaderSession *session);

/*
 * Do a job in this session while all workers wait for one: start, run and
 * stop of the task, here.  False if it was lost meanwhile, or the job's other
 * connection was: then the session is replaced, as it may be in the midst of
 * anything.  Exits with a message after as many losses as --retries allows,
 * on a standby, with --tasks, and where commands may have got a part of a
 * file (--pipe).
 */
extern bool leader_session_do(LeaderSession *session, const WorkerTask *task,
							  int job);

/*
 * When all jobs are done: end the transaction, unless the session is lost by
 * now.  Exits with a message if a table was renamed under those who read it.
 */
extern void leader_session_finish(LeaderSession *session);
extern bool leader_session_is_finished(const LeaderSession *session);

#endif							/* LEADER_SESSION_H */

/*
 * worker_monitor.h
 *		What the leader does while workers read rows.
 *
 * The leader keeps its session, and with it the snapshot and the locks
 * (leader_session.h), shows progress, and does jobs that no worker can do.
 * It also watches the workers: if the server of a worker has sent nothing for
 * longer than --stall-timeout the worker is ended, and replaced.  If workers
 * wait for each other the run ends with a message.
 *
 * When all jobs are done, workers that were stopped are continued, so that
 * they leave.  Then the leader ends its transaction.  The success of COMMIT
 * proves that the session has held its locks all the time.
 */
#ifndef WORKER_MONITOR_H
#define WORKER_MONITOR_H

#include "process/worker_pool.h"
#include "source/source.h"

/* ----------
 * Ends workers that wait for a server that sends nothing.
 *
 * Workers that have waited for longer than --stall-timeout are ended, and
 * replaced, if their backends do nothing for them.  If workers wait for a
 * lock behind the leader or behind each other the process ends with a
 * message.  The parent of the workers, the leader or a task, has a session of
 * its own to ask.
 * ----------
 */

/*
 * Runs a query on a server that workers read from, like session_look().
 * Returns NULL if that is impossible now.  If silently is true the server's
 * warnings are not shown.
 */
typedef PGresult *(*MonitorLook) (void *arg, int server, const char *query,
								  bool silently);

typedef struct WorkerMonitor
{
	const Options *options;
	WorkerState *states;		/* options->jobs of them */
	int			lock_wait_ms;	/* how long a worker waits before locks are
								 * checked */
	int			n_servers;		/* 1 unless the caller sets it */
	const char *leader;			/* SQL expression for the backend that has all
								 * locks; by default that of the session that
								 * asks */
	MonitorLook look;
	void	   *arg;
	int64		looked_at;
	int			deadlocks;		/* checks in a row that found one */
} WorkerMonitor;

/* It exists as long as the process. */
extern WorkerMonitor *worker_monitor_new(const Options *options,
										 WorkerState *states, int lock_wait_ms,
										 MonitorLook look, void *arg);

/* Call this often.  Checks the workers once a second. */
extern void worker_monitor_look(WorkerMonitor *monitor);

/*
 * The callbacks for a pool whose workers read from the source.  Call this
 * after leader_session_begin().  The result exists as long as the process.
 */
extern PoolWatch worker_monitor(Source *source, const DumpPlan *plan);

#endif							/* WORKER_MONITOR_H */

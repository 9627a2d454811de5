/*
 * worker_monitor.h
 *		What the leader does while workers work.
 *
 * It keeps its session, and with it the snapshot and the locks
 * (leader_session.h), shows progress, and does jobs that no worker can do.
 * And it looks after the workers: those whose server has been silent for
 * longer than --stall-timeout are ended, to be replaced; if they wait for
 * each other the run ends, with a message.
 *
 * When all jobs are done, workers that are stopped go on, so that they leave,
 * and the transaction is ended if it may be, whose success proves that the
 * session has held its locks all the time.
 */
#ifndef WORKER_MONITOR_H
#define WORKER_MONITOR_H

#include "process/worker_pool.h"
#include "source/source.h"

/* ----------
 * Ends workers that wait for a server that stays silent.
 *
 * Those that have waited for longer than --stall-timeout are ended, to be
 * replaced, if their backends do nothing for them; if they wait for a lock
 * behind the leader or each other the process ends, with a message.  Their
 * parent, the leader or a task, has a session of its own to look by.
 * ----------
 */

/*
 * Runs a query as session_look() does, at a server that workers read from;
 * NULL if that cannot be asked now.  Silently: without the server's warnings.
 */
typedef PGresult *(*MonitorLook) (void *arg, int server, const char *query,
								  bool silently);

typedef struct WorkerMonitor
{
	const Options *options;
	WorkerState *states;		/* options->jobs of them */
	int			lock_wait_ms;	/* of a worker, before locks are looked at */
	int			n_servers;		/* at first 1 */
	const char *leader;			/* the process that has all locks, in SQL; at
								 * first that of the session that looks */
	MonitorLook look;
	void	   *arg;
	int64		looked_at;
	int			deadlocks;		/* looks in a row that found one */
} WorkerMonitor;

/* It lives as long as the process. */
extern WorkerMonitor *worker_monitor_new(const Options *options,
										 WorkerState *states, int lock_wait_ms,
										 MonitorLook look, void *arg);

/* To be called again and again: looks once a second. */
extern void worker_monitor_look(WorkerMonitor *monitor);

/*
 * For a pool whose workers are the source's, after leader_session_begin().
 * It lives as long as the process.
 */
extern PoolWatch worker_monitor(Source *source, const DumpPlan *plan);

#endif							/* WORKER_MONITOR_H */

/*
 * worker_care.h
 *		Ends workers that wait for a server that stays silent.
 *
 * Those that have waited for longer than --stall-timeout are ended, to be
 * replaced, if their backends do nothing for them; if they wait for a lock
 * behind the leader or each other the process ends, with a message.  Their
 * parent, the leader or a task, has a session of its own to look by.
 */
#ifndef WORKER_CARE_H
#define WORKER_CARE_H

#include "libpq-fe.h"

#include "options/options.h"
#include "source/snapshot_holder.h"

/*
 * Runs a query as session_look() does, at a server that workers read from;
 * NULL if that cannot be asked now.  Silently: without the server's warnings.
 */
typedef PGresult *(*CareLook) (void *arg, int server, const char *query,
							   bool silently);

typedef struct WorkerCare
{
	const Options *options;
	SnapshotHolder *holders;	/* options->jobs of them */
	int			lock_wait_ms;	/* of a worker, before locks are looked at */
	int			n_servers;		/* at first 1 */
	const char *leader;			/* the process that has all locks, in SQL; at
								 * first that of the session that looks */
	CareLook	look;
	void	   *arg;
	int64		looked_at;
	int			deadlocks;		/* looks in a row that found one */
} WorkerCare;

/* It lives as long as the process. */
extern WorkerCare *worker_care_new(const Options *options,
								   SnapshotHolder *holders, int lock_wait_ms,
								   CareLook look, void *arg);

/* To be called again and again: looks once a second. */
extern void worker_care_look(WorkerCare *care);

#endif							/* WORKER_CARE_H */

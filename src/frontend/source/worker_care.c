/*
 * worker_care.c
 *		Ends workers that wait for a server that stays silent.
 */
#include "base/fe_compat.h"

#include <signal.h>

#include "base/clock.h"
#include "base/message.h"
#include "session/session.h"
#include "source/worker_care.h"

/* How often to look whether a worker waits for a silent server. */
#define LOOK_MS 1000

/*
 * Does a worker's backend wait for its client, or for nothing, or is it gone?
 * Then what should have reached the worker is lost between the two.  A
 * backend that works is left in peace, however long that takes.
 */
static bool
backend_has_nothing_to_do(WorkerCare *care, int server, int backend)
{
	char	   *sql = backend_query_at_work(backend);
	PGresult   *res = care->look(care->arg, server, sql, false);
	bool		result;

	free(sql);
	result = PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) == 0;
	PQclear(res);
	return result;
}

/*
 * Its backend may not learn for a long time that its client is gone: it would
 * keep a connection, the snapshot and locks meanwhile, beyond the run's end.
 */
static void
end_backend(WorkerCare *care, int server, int backend)
{
	int			min_age_s = (int) care->options->stall_timeout;
	char	   *sql = backend_query_terminate(backend, min_age_s);

	/* there is a warning should it have ended just now */
	PQclear(care->look(care->arg, server, sql, true));
	free(sql);
}

/*
 * A worker that was silent for too long is continued, in case it was stopped.
 * If its server is silent, the signal ends it, as one that has lost its
 * connection.
 */
static void
wake(WorkerCare *care, SnapshotHolder *holder)
{
	int			backend = holder->backend;
	bool		in_vain = snapshot_holder_waits(holder) &&
		(backend == 0 ||
		 backend_has_nothing_to_do(care, holder->server, backend)) &&
		snapshot_holder_waits(holder);

	if (in_vain)
		kill(holder->pid, SIGUSR1);
	kill(holder->pid, SIGCONT);
	if (in_vain && backend != 0)
		end_backend(care, holder->server, backend);
}

/*
 * Does a worker wait behind one that has done its part, say?  The server does
 * not see that such a wait is for ever.  But a worker between two jobs has
 * done its part for a moment only: it must be found twice in a row.
 */
static bool
find_deadlock(WorkerCare *care, int server)
{
	char	   *pids = snapshot_holders_backends(care->holders,
												 care->options->jobs,
												 server);
	char	   *sql = backend_query_deadlock(pids, care->leader);
	PGresult   *res = care->look(care->arg, server, sql, false);
	bool		found = PQresultStatus(res) == PGRES_TUPLES_OK &&
		PQntuples(res) > 0;

	free(sql);
	free(pids);
	if (found && care->deadlocks > 0)
	{
		pg_log_error("a worker waits for a lock on %s behind process %s, which waits for this run",
					 printable(PQgetvalue(res, 0, 0)), PQgetvalue(res, 0, 1));
		pg_log_error_hint("Run commands that need exclusive locks after the dump, or with a lock_timeout.");
		exit(1);
	}
	PQclear(res);
	return found;
}

static void
check_deadlock(WorkerCare *care)
{
	bool		found = false;

	for (int i = 0; i < care->n_servers; i++)
		found = find_deadlock(care, i) || found;
	care->deadlocks = found ? care->deadlocks + 1 : 0;
}

WorkerCare *
worker_care_new(const Options *options, SnapshotHolder *holders,
				int lock_wait_ms, CareLook look, void *arg)
{
	WorkerCare *care = pg_malloc0(sizeof(WorkerCare));

	care->options = options;
	care->holders = holders;
	care->lock_wait_ms = lock_wait_ms;
	care->n_servers = 1;
	care->leader = "pg_catalog.pg_backend_pid()";
	care->look = look;
	care->arg = arg;
	care->looked_at = clock_monotonic_ms();
	return care;
}

void
worker_care_look(WorkerCare *care)
{
	int64		timeout_ms = (int64) care->options->stall_timeout * 1000;
	int64		now = clock_monotonic_ms();
	int64		elapsed_ms = now - care->looked_at;
	bool		any_waits = false;

	if (elapsed_ms < LOOK_MS)
		return;
	care->looked_at = now;

	/*
	 * if all of the run was stopped by Ctrl-Z, no worker was silent meanwhile
	 */
	elapsed_ms = Min(elapsed_ms, 2 * LOOK_MS);
	for (int i = 0; i < care->options->jobs; i++)
	{
		SnapshotHolder *holder = &care->holders[i];
		int64		ms = snapshot_holder_unchanged_ms(holder, elapsed_ms);

		if (snapshot_holder_waits(holder) && ms >= care->lock_wait_ms)
			any_waits = true;
		if (timeout_ms == 0 || ms < timeout_ms)
			continue;
		holder->unchanged_ms = 0;	/* ask again after the same time */
		wake(care, holder);
	}
	if (any_waits)
		check_deadlock(care);
}

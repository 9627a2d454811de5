/*
 * worker_monitor.c
 *		What the leader does while workers read rows.
 *
 * It asks the servers about workers that have waited for a long time, because
 * a worker itself cannot find out why nothing arrives.
 */
#include "base/fe_compat.h"

#include <signal.h>

#include "base/clock.h"
#include "process/progress.h"
#include "source/leader_session.h"
#include "source/worker_monitor.h"

/* ----------
 * Ends workers that wait for a server that sends nothing.
 * ----------
 */

/*
 * How often to check whether a worker waits for a server that sends nothing.
 */
#define LOOK_MS 1000

/*
 * Is a worker's backend waiting for its client, idle, or gone?  Then the data
 * that should have reached the worker is lost between the two.  A backend
 * that is working is not disturbed, however long it takes.
 */
static bool
backend_has_nothing_to_do(WorkerMonitor *monitor, int server, int backend)
{
	char	   *sql = backend_query_at_work(backend);
	PGresult   *res = monitor->look(monitor->arg, server, sql, false);
	bool		result;

	free(sql);
	result = PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) == 0;
	PQclear(res);
	return result;
}

/*
 * Continue a worker that has waited for too long, in case it was stopped.  If
 * its server sends nothing, end it with a signal, like a worker that has lost
 * its connection.
 */
static void
wake(WorkerMonitor *monitor, WorkerState *state)
{
	int			backend = state->backend;
	bool		in_vain = worker_state_waits(state) &&
		(backend == 0 ||
		 backend_has_nothing_to_do(monitor, state->server, backend)) &&
		worker_state_waits(state);

	/*
	 * If the process is stopped, SIGUSR1 stays pending, and is handled before
	 * SIGCONT lets the process continue.  So the worker ends without reading
	 * further.
	 */
	if (in_vain)
		kill(state->pid, SIGUSR1);
	kill(state->pid, SIGCONT);
	if (!in_vain || backend == 0)
		return;

	/*
	 * The backend may not notice for a long time that its client is gone.
	 * Until then it would keep a connection, the snapshot and locks, even
	 * after the run.  The query is silent, because the server warns if the
	 * backend has just ended.
	 */
	PQclear(monitor->look(monitor->arg, state->server,
						  backend_query_terminate(backend, (int) monitor->options->stall_timeout),
						  true));
}

/*
 * Do workers wait for each other, for example for the lock of a worker that
 * has finished its jobs?  The server does not detect that such a wait never
 * ends.  A worker between two jobs only looks as if it had finished, so the
 * state must be found twice in a row.
 */
static bool
find_deadlock(WorkerMonitor *monitor, int server)
{
	char	   *pids = worker_states_backends(monitor->states,
											  monitor->options->jobs, server);
	char	   *sql = backend_query_deadlock(pids, monitor->leader);
	PGresult   *res = monitor->look(monitor->arg, server, sql, false);
	bool		found = PQresultStatus(res) == PGRES_TUPLES_OK &&
		PQntuples(res) > 0;

	free(sql);
	free(pids);
	if (found && monitor->deadlocks > 0)
	{
		pg_log_error("deadlock detected");
		pg_log_error_detail("This run is waiting for a lock on %s behind process %s, which is waiting for this run.",
							printable(PQgetvalue(res, 0, 0)),
							PQgetvalue(res, 0, 1));
		pg_fatal_hint("Run commands that need exclusive locks after the run, or with a lock_timeout.");
	}
	PQclear(res);
	return found;
}

static void
check_deadlock(WorkerMonitor *monitor)
{
	bool		found = false;

	for (int i = 0; i < monitor->n_servers; i++)
		found = find_deadlock(monitor, i) || found;
	monitor->deadlocks = found ? monitor->deadlocks + 1 : 0;
}

WorkerMonitor *
worker_monitor_new(const Options *options, WorkerState *states,
				   int lock_wait_ms, MonitorLook look, void *arg)
{
	WorkerMonitor *monitor = pg_malloc0(sizeof(WorkerMonitor));

	monitor->options = options;
	monitor->states = states;
	monitor->lock_wait_ms = lock_wait_ms;
	monitor->n_servers = 1;
	monitor->leader = "pg_catalog.pg_backend_pid()";
	monitor->look = look;
	monitor->arg = arg;
	monitor->looked_at = clock_monotonic_ms();
	return monitor;
}

void
worker_monitor_look(WorkerMonitor *monitor)
{
	int64		timeout_ms = (int64) monitor->options->stall_timeout * 1000;
	int64		now = clock_monotonic_ms();
	int64		elapsed_ms = now - monitor->looked_at;
	bool		any_waits = false;

	if (elapsed_ms < LOOK_MS)
		return;
	monitor->looked_at = now;

	/*
	 * If the whole run was stopped with Ctrl-Z, that time does not count as
	 * waiting.
	 */
	elapsed_ms = Min(elapsed_ms, 2 * LOOK_MS);
	for (int i = 0; i < monitor->options->jobs; i++)
	{
		WorkerState *state = &monitor->states[i];
		int64		ms = worker_state_unchanged_ms(state, elapsed_ms);

		if (worker_state_waits(state) && ms >= monitor->lock_wait_ms)
			any_waits = true;
		if (timeout_ms == 0 || ms < timeout_ms)
			continue;
		state->unchanged_ms = 0;	/* check again after the same time */
		wake(monitor, state);
	}
	if (any_waits)
		check_deadlock(monitor);
}

/* ----------
 * The callbacks of the leader's worker pool.
 * ----------
 */

typedef struct WorkerWatch
{
	Source	   *source;
	WorkerMonitor *monitor;
} WorkerWatch;

/* ----------
 * Servers
 * ----------
 */

/*
 * Run a query on the server that a worker reads from, in the leader's session
 * there.
 */
static PGresult *
look(void *arg, int server, const char *query, bool silently)
{
	const Source *source = ((WorkerWatch *) arg)->source;

	if (server > 0)
		return standby_look(&source->standbys->list[server], query);
	if (source->conn == NULL)
		return NULL;
	return silently ? leader_session_look_silently(source->session, query) :
		leader_session_look(source->session, query);
}

/*
 * The server with the fewest workers, among those whose session is not lost.
 */
static int
choose_server(const Source *source)
{
	int			n = source->standbys ? source->standbys->n : 1;
	int			best = 0;
	int			least = worker_states_count(source->states,
											source->options->jobs, 0);

	for (int i = 1; i < n; i++)
	{
		int			count = worker_states_count(source->states,
												source->options->jobs, i);

		if (source->standbys->list[i].conn && count < least)
		{
			best = i;
			least = count;
		}
	}
	return best;
}

/* ----------
 * For the pool
 * ----------
 */
static void
worker_monitor_worker_begins(void *arg, int worker)
{
	const WorkerWatch *watch = arg;
	const Source *source = watch->source;

	worker_state_begin(&source->states[worker], choose_server(source));
}

static void
worker_monitor_worker_is_gone(void *arg, int worker)
{
	const Source *source = ((const WorkerWatch *) arg)->source;
	WorkerState *state = &source->states[worker];

	state->running = false;
	if (state->server > 0 && state->no_snapshot)
		standby_discard(&source->standbys->list[state->server]);
}

static int
worker_monitor_watch_fd(void *arg)
{
	const Source *source = ((WorkerWatch *) arg)->source;

	return source->conn && !leader_session_is_finished(source->session) ?
		PQsocket(source->conn) : -1;
}

static bool
worker_monitor_attend(void *arg, bool all_done)
{
	WorkerWatch *watch = arg;
	const Source *source = watch->source;

	progress_tick();

	/*
	 * Workers leave now.  A stopped one would keep its session, so continue
	 * it.
	 */
	if (all_done)
		worker_states_wake(source->states, source->options->jobs);
	if (leader_session_is_finished(source->session))
		return true;
	leader_session_keep(source->session);
	if (source->standbys)
		standby_keep(source->standbys);

	/*
	 * Each of these calls may find that the session is lost, and set the
	 * connection to NULL.  So it is checked before each call.
	 */
	if (source->conn)
		worker_monitor_look(watch->monitor);
	if (source->conn)
		leader_session_check_age(source->session);
	if (source->conn && all_done && !source->keep_snapshot)
		leader_session_finish(source->session);
	return source->conn != NULL;
}

static bool
worker_monitor_run_refused(void *arg, const WorkerTask *task, int job)
{
	const WorkerWatch *watch = arg;

	leader_watchdog_watch_rows();
	return leader_session_do(watch->source->session, task, job);
}

PoolWatch
worker_monitor(Source *source, const DumpPlan *plan)
{
	WorkerWatch *watch = pg_malloc0(sizeof(WorkerWatch));
	PoolWatch	result = {
		.arg = watch,
		.begins = worker_monitor_worker_begins,
		.is_gone = worker_monitor_worker_is_gone,
		.watch_fd = worker_monitor_watch_fd,
		.attend = worker_monitor_attend,
		.run_refused = worker_monitor_run_refused,
	};

	watch->source = source;
	watch->monitor = worker_monitor_new(source->options, source->states,
										plan->lock_wait_ms, look, watch);
	watch->monitor->n_servers = source->standbys ? source->standbys->n : 1;
	return result;
}

/*
 * worker_watch.c
 *		What the leader does while workers work.
 */
#include "base/fe_compat.h"

#include "progress/progress.h"
#include "source/leader_session.h"
#include "source/leader_watchdog.h"
#include "source/worker_care.h"
#include "source/worker_watch.h"

typedef struct WorkerWatch
{
	Source	   *source;
	WorkerCare *care;
} WorkerWatch;

/* ----------
 * Servers
 * ----------
 */

/*
 * Look at the server that a worker reads from, in the leader's session there.
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

/* The one with the fewest workers, of those that are there. */
static int
choose_server(const Source *source)
{
	int			n = source->standbys ? source->standbys->n : 1;
	int			best = 0;
	int			least = snapshot_holders_count(source->holders,
											   source->options->jobs, 0);

	for (int i = 1; i < n; i++)
	{
		int			count = snapshot_holders_count(source->holders,
												   source->options->jobs, i);

		if (standby_is_there(&source->standbys->list[i]) && count < least)
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
worker_begins(void *arg, int worker)
{
	const WorkerWatch *watch = arg;
	const Source *source = watch->source;

	snapshot_holder_begin(&source->holders[worker], choose_server(source));
}

static void
worker_is_gone(void *arg, int worker)
{
	const WorkerWatch *watch = arg;

	watch->source->holders[worker].running = false;
}

static int
watch_fd(void *arg)
{
	const Source *source = ((WorkerWatch *) arg)->source;

	return source->conn && !leader_session_is_finished(source->session) ?
		PQsocket(source->conn) : -1;
}

static bool
attend(void *arg, bool all_done)
{
	WorkerWatch *watch = arg;
	const Source *source = watch->source;

	progress_tick();
	/* they are to leave now, and what is stopped would keep its session */
	if (all_done)
		snapshot_holders_wake(source->holders, source->options->jobs);
	if (leader_session_is_finished(source->session))
		return true;
	leader_session_keep(source->session);
	if (source->standbys)
		standby_keep(source->standbys);
	if (source->conn)
		worker_care_look(watch->care);
	if (source->conn)
		leader_session_check_age(source->session);
	if (source->conn && all_done && !source->keep_snapshot)
		leader_session_finish(source->session);
	return source->conn != NULL;
}

static bool
run_refused(void *arg, const WorkerTask *task, int job)
{
	const WorkerWatch *watch = arg;

	leader_watchdog_watch_rows();
	return leader_session_do(watch->source->session, task, job);
}

PoolWatch
worker_watch(Source *source, const DumpPlan *plan)
{
	WorkerWatch *watch = pg_malloc0(sizeof(WorkerWatch));
	PoolWatch	result = {
		.arg = watch,
		.begins = worker_begins,
		.is_gone = worker_is_gone,
		.watch_fd = watch_fd,
		.attend = attend,
		.run_refused = run_refused,
	};

	watch->source = source;
	watch->care = worker_care_new(source->options, source->holders,
								  plan->lock_wait_ms, look, watch);
	watch->care->n_servers = source->standbys ? source->standbys->n : 1;
	return result;
}

/*
 * task_servers.c
 *		The servers that a task reads from.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "session/connection.h"
#include "session/session_loss.h"
#include "session/session_settings.h"
#include "tasks/task_address.h"
#include "tasks/task_server.h"
#include "tasks/task_servers.h"

/* How often to look whether the leader is there. */
#define LOOK_MS 2000

/* How long a server may take to tell what backends do. */
#define ANSWER_MS 15000

struct TaskServers
{
	const Options *options;
	const DumpTaskPlan *plan;
	Source	   *source;
	int			task;
	int			n_workers;
	int			n;
	PGconn	  **conns;			/* by server; NULL while there is none */
	int			connecting;		/* to this one */
	int			n_begun;		/* workers, those that replace others too */
	int64		looked_at;
};

TaskServers *
task_servers_new(const Options *options, const DumpTaskPlan *plan, int task,
				 Source *source)
{
	TaskServers *servers = pg_malloc0(sizeof(TaskServers));

	servers->options = options;
	servers->plan = plan;
	servers->source = source;
	servers->task = task;
	servers->n = plan->n_standbys + 1;
	servers->conns = pg_malloc0(servers->n * sizeof(PGconn *));
	source->address = task_address(plan->head.run.conninfo,
								   &options->connection,
								   options->password_command);
	if (plan->n_standbys > 0)
	{
		static const ConnParams as_leader;
		Standbys   *standbys = pg_malloc0(sizeof(Standbys));

		/* the first is never asked for: it is the source's own */
		standbys->options = options;
		standbys->n = servers->n;
		standbys->list = pg_malloc0(servers->n * sizeof(Standby));
		for (int i = 1; i < servers->n; i++)
		{
			const PlannedStandby *planned = &plan->standbys[i - 1];
			Standby    *standby = &standbys->list[i];

			standby->name = planned->name;
			standby->snapshot = planned->snapshot;
			standby->identity = planned->identity;
			standby->holder_query = planned->holder_query;
			standby->address = task_address(planned->conninfo, &as_leader,
											options->password_command);
		}
		source->standbys = standbys;
	}
	return servers;
}

int
task_servers_count(const TaskServers *servers)
{
	return servers->n;
}

/* ----------
 * Sessions to look by
 * ----------
 */
static void
connect_look(void *arg)
{
	TaskServers *servers = arg;
	int			no = servers->connecting;
	PGconn	  **conn = &servers->conns[no];
	const TaskRun *run = &servers->plan->head.run;

	*conn = connection_open_peer(no == 0 ? servers->source->address :
								 servers->source->standbys->list[no].address,
								 "pg_pardump task");
	session_set_up(*conn, servers->options, servers->plan->plan.encoding);
	if (no == 0)
	{
		task_server_check(*conn, &run->server);
		(void) task_server_check_leader(*conn, run->run_id);
	}
	/* session_look() wants one */
	session_begin(*conn, "BEGIN");
}

static void
lose_look(TaskServers *servers, int no)
{
	interrupt_set_connection(NULL);
	session_close(servers->conns[no]);
	servers->conns[no] = NULL;
}

static char *
connect_to(TaskServers *servers, int no)
{
	char	   *cause;

	servers->connecting = no;
	cause = session_try(connect_look, servers);
	if (cause && servers->conns[no])
		lose_look(servers, no);
	return cause;
}

/* Some of them are to be on each server. */
static void
check_workers(void *arg)
{
	const TaskServers *servers = arg;

	connection_limit_check_workers(servers->conns[0],
								   (servers->n_workers + servers->n - 1) / servers->n);
}

char *
task_servers_connect(TaskServers *servers, int n_workers)
{
	char	   *cause = connect_to(servers, 0);

	servers->looked_at = clock_monotonic_ms();
	servers->n_workers = n_workers;
	/* one that gets no connection says so itself */
	if (cause || n_workers <= 1)
		return cause;
	return session_try(check_workers, servers);
}

PGresult *
task_servers_look(void *arg, int server, const char *query, bool silently)
{
	TaskServers *servers = arg;
	bool		lost = false;
	PGresult   *res = servers->conns[server] == NULL ? NULL :
		session_look(servers->conns[server], query, ANSWER_MS, &lost);

	if (lost)
		lose_look(servers, server);
	return res;
}

/*
 * No worker finds it out by itself that the leader is gone: the snapshot
 * lives on in those that have it.  Workers that lose a server themselves have
 * retries of their own; these sessions are connected again when they can be.
 */
void
task_servers_attend(TaskServers *servers)
{
	int64		now = clock_monotonic_ms();

	if (now - servers->looked_at < LOOK_MS)
		return;
	servers->looked_at = now;
	if (servers->conns[0] &&
		!task_server_check_leader(servers->conns[0], servers->plan->head.run.run_id))
		lose_look(servers, 0);
	for (int i = 0; i < servers->n; i++)
		if (servers->conns[i] == NULL &&
			(i == 0 || snapshot_holders_count(servers->source->holders,
											  servers->options->jobs, i) > 0))
			free(connect_to(servers, i));
}

/* Tasks begin at different ones, and so do the workers of each. */
int
task_servers_choose(TaskServers *servers)
{
	return (servers->task + servers->n_begun++) % servers->n;
}

void
task_servers_close(TaskServers *servers)
{
	for (int i = 0; i < servers->n; i++)
		lose_look(servers, i);
}

/*
 * worker_state.c
 *		State of the workers' sessions, in memory that workers share with the
 *		leader.
 */
#include "base/fe_compat.h"

#include <signal.h>

#include "base/buffer.h"
#include "base/shared_memory.h"
#include "session/snapshot.h"
#include "source/standby_overflow.h"
#include "source/worker_state.h"

WorkerState *
worker_states_new(int n)
{
	return shared_memory_new(n, sizeof(WorkerState));
}

void
worker_state_begin(WorkerState *state, int server)
{
	memset(state, 0, sizeof(WorkerState));
	state->running = true;
	state->server = server;
}

void
worker_state_start(WorkerState *state)
{
	session_wait_begin_worker(&state->waits);
	state->pid = getpid();
}

void
worker_state_connected(WorkerState *state, PGconn *conn)
{
	state->backend = session_backend(conn);
}

void
worker_state_offer(WorkerState *state, PGconn *conn,
				   const ServerExtension *extension)
{
	char	   *name = snapshot_export(conn);

	if (extension)
		standby_overflow_check(conn, extension, name);

	/*
	 * The leader may read this at any moment, and find only a part of the
	 * name.  No snapshot has such a name, so the import fails and is tried
	 * again.
	 */
	strlcpy(state->name, name, sizeof(state->name));
}

static bool
any_has_it(const WorkerState *states, int n)
{
	for (int i = 0; i < n; i++)
		if (states[i].running && !states[i].vanished)
			return true;
	return false;
}

void
worker_states_check(const WorkerState *states, int n)
{
	if (any_has_it(states, n))
		return;
	pg_log_error("the snapshot of this run was lost");
	pg_log_error_detail("All sessions that had the snapshot were lost, so the remaining rows cannot be read.");
	pg_fatal_hint("Check the server and the network, and run the same command again.");
}

void
worker_states_wake(const WorkerState *states, int n)
{
	for (int i = 0; i < n; i++)

		/*
		 * A worker that was stopped (Ctrl-Z, a debugger) would keep its
		 * session.
		 */
		if (states[i].running && states[i].pid != 0)
			kill(states[i].pid, SIGCONT);
}

/*
 * The snapshot of a running worker may have vanished, because a worker
 * without a job does not notice that its session has ended.  So all are
 * tried.
 */
bool
worker_states_import(WorkerState *states, int n, PGconn *conn,
					 const char *identity)
{
	for (int i = 0; i < n; i++)
	{
		WorkerState *state = &states[i];
		char		name[SNAPSHOT_NAME_BYTES];

		if (!state->running || state->vanished || state->name[0] == '\0')
			continue;
		memcpy(name, state->name, sizeof(name));
		if (snapshot_try_import(conn, name, identity))
			return true;

		/*
		 * The name may have been changing just now; then try it again later.
		 */
		state->vanished = strcmp(name, state->name) == 0;
	}
	return false;
}

int
worker_states_count(const WorkerState *states, int n, int server)
{
	int			result = 0;

	for (int i = 0; i < n; i++)
		result += states[i].running && states[i].server == server;
	return result;
}

char *
worker_states_backends(const WorkerState *states, int n, int server)
{
	PQExpBufferData pids = buffer_new();

	for (int i = 0; i < n; i++)
		if (states[i].running && states[i].server == server)
			appendPQExpBuffer(&pids, "%s%d", pids.len > 0 ? "," : "",
							  states[i].backend);
	return buffer_text(&pids);
}

int64
worker_state_unchanged_ms(WorkerState *state, int64 elapsed_ms)
{
	uint64		wait = state->waits;

	if (!state->running || state->pid == 0 || wait != state->last_wait)
		state->unchanged_ms = 0;
	else
		state->unchanged_ms += elapsed_ms;
	state->last_wait = wait;
	return state->unchanged_ms;
}

bool
worker_state_waits(const WorkerState *state)
{
	return state->last_wait % 2 == 1 && state->waits == state->last_wait;
}

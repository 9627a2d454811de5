/*
 * worker_state.c
 *		What workers tell the leader of their sessions, in memory they share.
 */
#include "base/fe_compat.h"

#include <signal.h>
#include <unistd.h>

#include "pqexpbuffer.h"

#include "base/buffer.h"
#include "base/shared_memory.h"
#include "session/session_lost.h"
#include "session/snapshot.h"
#include "source/standby_overflow.h"
#include "source/worker_state.h"

WorkerState *
worker_states_new(int n)
{
	return shared_memory_new(n, sizeof(WorkerState));
}

void
worker_state_begin(WorkerState *holder, int server)
{
	memset(holder, 0, sizeof(WorkerState));
	holder->running = true;
	holder->server = server;
}

void
worker_state_start(WorkerState *holder)
{
	session_wait_begin_worker(&holder->waits);
	holder->pid = getpid();
}

void
worker_state_connected(WorkerState *holder, PGconn *conn)
{
	holder->backend = session_backend(conn);
}

void
worker_state_join(WorkerState *holder, PGconn *conn,
				  const char *snapshot, const char *identity)
{
	worker_state_connected(holder, conn);
	snapshot_begin_worker(conn, snapshot, identity);
}

void
worker_state_offer(WorkerState *holder, PGconn *conn,
				   const ServerExtension *extension)
{
	char	   *name = snapshot_export(conn);

	if (extension)
		standby_overflow_check(conn, extension, name);

	/*
	 * The leader may read this at any moment.  No export has half a name, so
	 * that the import fails and is tried again.
	 */
	strlcpy(holder->name, name, sizeof(holder->name));
	free(name);
}

static bool
any_has_it(const WorkerState *holders, int n)
{
	for (int i = 0; i < n; i++)
		if (holders[i].running && !holders[i].vanished)
			return true;
	return false;
}

void
worker_states_check(const WorkerState *holders, int n)
{
	if (any_has_it(holders, n))
		return;
	pg_log_error("no session has the snapshot of the dump any more");
	pg_log_error_detail("The leader's session and those of all workers were lost; what was not read yet cannot be read.");
	exit(1);
}

void
worker_states_wake(const WorkerState *holders, int n)
{
	for (int i = 0; i < n; i++)

		/*
		 * One that was stopped (Ctrl-Z, a debugger) would keep its session.
		 */
		if (holders[i].running && holders[i].pid != 0)
			kill(holders[i].pid, SIGCONT);
}

/* A worker without a job does not notice that its session has ended. */
bool
worker_states_import(WorkerState *holders, int n, PGconn *conn,
					 const char *identity)
{
	for (int i = 0; i < n; i++)
	{
		WorkerState *holder = &holders[i];
		char		name[SNAPSHOT_NAME_BYTES];

		if (!holder->running || holder->vanished || holder->name[0] == '\0')
			continue;
		memcpy(name, holder->name, sizeof(name));
		if (snapshot_try_import(conn, name, identity))
			return true;
		/* unless it was just being written */
		holder->vanished = strcmp(name, holder->name) == 0;
	}
	return false;
}

int
worker_states_count(const WorkerState *holders, int n, int server)
{
	int			result = 0;

	for (int i = 0; i < n; i++)
		result += holders[i].running && holders[i].server == server;
	return result;
}

char *
worker_states_backends(const WorkerState *holders, int n, int server)
{
	PQExpBufferData pids;

	initPQExpBuffer(&pids);
	for (int i = 0; i < n; i++)
		if (holders[i].running && holders[i].server == server)
			appendPQExpBuffer(&pids, "%s%d", pids.len > 0 ? "," : "",
							  holders[i].backend);
	return buffer_text(&pids);
}

int64
worker_state_unchanged_ms(WorkerState *holder, int64 elapsed_ms)
{
	uint64		wait = holder->waits;

	if (!holder->running || holder->pid == 0 || wait != holder->last_wait)
		holder->unchanged_ms = 0;
	else
		holder->unchanged_ms += elapsed_ms;
	holder->last_wait = wait;
	return holder->unchanged_ms;
}

bool
worker_state_waits(const WorkerState *holder)
{
	return holder->last_wait % 2 == 1 && holder->waits == holder->last_wait;
}

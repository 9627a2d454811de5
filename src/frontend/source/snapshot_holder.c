/*
 * snapshot_holder.c
 *		What workers tell the leader of their sessions, in memory they share.
 */
#include "base/fe_compat.h"

#include <signal.h>
#include <unistd.h>

#include "pqexpbuffer.h"

#include "base/shared_memory.h"
#include "session/session_loss.h"
#include "session/snapshot.h"
#include "source/snapshot_holder.h"
#include "source/standby_overflow.h"

SnapshotHolder *
snapshot_holders_new(int n)
{
	return shared_memory_new(n, sizeof(SnapshotHolder));
}

void
snapshot_holder_begin(SnapshotHolder *holder, int server)
{
	memset(holder, 0, sizeof(SnapshotHolder));
	holder->running = true;
	holder->server = server;
}

void
snapshot_holder_start(SnapshotHolder *holder)
{
	session_wait_begin_worker(&holder->waits);
	holder->pid = getpid();
}

void
snapshot_holder_connected(SnapshotHolder *holder, PGconn *conn)
{
	holder->backend = session_backend(conn);
}

void
snapshot_holder_join(SnapshotHolder *holder, PGconn *conn,
					 const char *snapshot, const char *identity)
{
	snapshot_holder_connected(holder, conn);
	snapshot_begin_worker(conn, snapshot, identity);
}

void
snapshot_holder_offer(SnapshotHolder *holder, PGconn *conn,
					  const ServerExtension *extension)
{
	char	   *name = snapshot_export(conn);

	if (extension)
		standby_overflow_check(conn, extension, name);
	strlcpy(holder->name, name, sizeof(holder->name));
	free(name);
}

static bool
any_has_it(const SnapshotHolder *holders, int n)
{
	for (int i = 0; i < n; i++)
		if (holders[i].running && !holders[i].vanished)
			return true;
	return false;
}

void
snapshot_holders_check(const SnapshotHolder *holders, int n)
{
	if (any_has_it(holders, n))
		return;
	pg_log_error("no session has the snapshot of the dump any more");
	pg_log_error_detail("The leader's session and those of all workers were lost; what was not read yet cannot be read.");
	exit(1);
}

void
snapshot_holders_wake(const SnapshotHolder *holders, int n)
{
	for (int i = 0; i < n; i++)
		if (holders[i].running && holders[i].pid != 0)
			kill(holders[i].pid, SIGCONT);
}

/* A worker without a job does not notice that its session has ended. */
bool
snapshot_holders_import(SnapshotHolder *holders, int n, PGconn *conn,
						const char *identity)
{
	for (int i = 0; i < n; i++)
	{
		SnapshotHolder *holder = &holders[i];
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
snapshot_holders_count(const SnapshotHolder *holders, int n, int server)
{
	int			result = 0;

	for (int i = 0; i < n; i++)
		result += holders[i].running && holders[i].server == server;
	return result;
}

char *
snapshot_holders_backends(const SnapshotHolder *holders, int n, int server)
{
	PQExpBufferData pids;

	initPQExpBuffer(&pids);
	for (int i = 0; i < n; i++)
		if (holders[i].running && holders[i].server == server)
			appendPQExpBuffer(&pids, "%s%d", pids.len > 0 ? "," : "",
							  holders[i].backend);
	if (PQExpBufferDataBroken(pids))
		pg_fatal("out of memory");
	return pids.data;
}

int64
snapshot_holder_unchanged_ms(SnapshotHolder *holder, int64 elapsed_ms)
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
snapshot_holder_waits(const SnapshotHolder *holder)
{
	return holder->last_wait % 2 == 1 && holder->waits == holder->last_wait;
}

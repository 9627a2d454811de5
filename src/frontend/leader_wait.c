/*
 * leader_wait.c
 *		Waits of the leader for the source's server, ended if they are in vain.
 */
#include "fe_compat.h"

#include <poll.h>

#include "libpq-events.h"

#include "cleanup.h"
#include "leader_wait.h"
#include "server_health.h"
#include "worker_pool.h"

/* How long the answer to a question may take. */
#define ANSWER_MS 15000

/* How often to look for a signal. */
#define LOOK_MS 200

/* There is one server to wait for: this is the process's. */
typedef struct LeaderWait
{
	const PeerAddress *address;
	int64		timeout_ms;
	int			max_unanswered;
	int			unanswered;		/* questions in a row */
} LeaderWait;

static LeaderWait state;

/* A PGEventProc is the key to what libpq keeps with a connection for others. */
static int
ignore_event(PGEventId event, void *info, void *arg)
{
	return true;
}

void
leader_wait_watch(PGconn *conn, const PeerAddress *address,
				  const Options *options)
{
	PGresult   *res;
	intptr_t	backend;

	if (options->stall_timeout == 0)
		return;
	res = session_exec_within(conn, session_backend_query, ANSWER_MS);
	if (res == NULL)
		worker_pool_lost("the server does not answer");
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		session_failed(conn, res, "query failed", session_backend_query);
	backend = atoi(PQgetvalue(res, 0, 0));
	PQclear(res);
	state.address = address;
	state.timeout_ms = (int64) options->stall_timeout * 1000;
	state.max_unanswered = (int) options->retries;
	/* nor may sending wait without end; PQexec() does not care */
	if (!PQregisterEventProc(conn, ignore_event, "pg_pardump", NULL) ||
		!PQsetInstanceData(conn, ignore_event, (void *) backend) ||
		PQsetnonblocking(conn, true) != 0)
		pg_fatal("out of memory");
}

bool
leader_wait_watches(const PGconn *conn)
{
	return PQinstanceData(conn, ignore_event) != NULL;
}

/*
 * Until something has come, or something to send can be sent; false if that is
 * not so by the deadline.
 */
static bool
wait_until(PGconn *conn, int64 deadline)
{
	struct pollfd fd = {.fd = PQsocket(conn),.events = POLLIN};
	int64		left;

	if (PQflush(conn) > 0)
		fd.events |= POLLOUT;
	while ((left = deadline - worker_pool_now_ms()) > 0)
	{
		cleanup_check_interrupt();
		if (poll(&fd, 1, (int) Min(left, LOOK_MS)) > 0)
			return true;
	}
	return false;
}

/* As a worker's: see leader_session.c:backend_has_nothing_to_do(). */
static bool
is_in_vain(const PGconn *conn)
{
	char	   *sql = server_health_at_work_query((int) (intptr_t) PQinstanceData(conn, ignore_event));
	PGconn	   *other = connection_try_peer(state.address, "pg_pardump");
	PGresult   *res = NULL;
	bool		result;

	cleanup_check_interrupt();
	if (PQstatus(other) == CONNECTION_OK)
		res = session_exec_within(other, sql, ANSWER_MS);
	if (PQresultStatus(res) == PGRES_TUPLES_OK)
	{
		state.unanswered = 0;
		result = PQntuples(res) == 0;
	}
	else
		result = state.unanswered++ >= state.max_unanswered;
	PQclear(res);
	PQfinish(other);
	free(sql);
	return result;
}

static void
wait_watched(PGconn *conn)
{
	while (!wait_until(conn, worker_pool_now_ms() + state.timeout_ms))
	{
		/* what was sent before the question is here when it is answered */
		if (is_in_vain(conn) && !wait_until(conn, worker_pool_now_ms() + 1))
			worker_pool_lost("the server has sent the leader nothing for --stall-timeout, though its session has nothing else to do, or cannot be asked");
	}
}

PGresult *
leader_wait_result(PGconn *conn, int wait_ms)
{
	int64		deadline = worker_pool_now_ms() + wait_ms;
	PGresult   *res = NULL;
	PGresult   *next;

	for (;;)
	{
		while (PQisBusy(conn))
		{
			if (wait_ms < 0)
				wait_watched(conn);
			else if (!wait_until(conn, deadline))
			{
				PQclear(res);
				return NULL;
			}
			if (!PQconsumeInput(conn))
				break;			/* the next result says so */
		}
		next = PQgetResult(conn);
		if (next == NULL)
			return res;
		PQclear(res);
		res = next;
	}
}

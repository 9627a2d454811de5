/*
 * leader_watchdog.c
 *		Ends waits of the leader for a source server that stays silent.
 */
#include "base/fe_compat.h"

#include "libpq-events.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "progress/progress.h"
#include "session/session.h"
#include "session/session_loss.h"
#include "source/leader_watchdog.h"

/* How long the answer to a question may take. */
#define ANSWER_MS 15000

/*
 * What is kept with a connection, for as long as the process: there may be
 * two servers to wait for.
 */
typedef struct WatchedSession
{
	const PeerAddress *address;
	int			backend;
} WatchedSession;

/* This is the process's. */
typedef struct LeaderWatchdog
{
	int64		timeout_ms;
	int			max_unanswered;
	int			unanswered;		/* questions in a row */
	int64		since;			/* when rows came last, or were asked for */
} LeaderWatchdog;

static LeaderWatchdog state;

/*
 * A PGEventProc is the key to what libpq keeps with a connection for others.
 */
static int
ignore_event(PGEventId event, void *info, void *arg)
{
	return true;
}

static bool
is_watched(const PGconn *conn)
{
	return PQinstanceData(conn, ignore_event) != NULL;
}

/* As a worker's: see worker_watch.c:backend_has_nothing_to_do(). */
static bool
is_in_vain(const PGconn *conn)
{
	const WatchedSession *session = PQinstanceData(conn, ignore_event);
	char	   *sql = backend_query_at_work(session->backend);
	PGconn	   *other = connection_try_peer(session->address, "pg_pardump");
	PGresult   *res = NULL;
	bool		result;

	interrupt_check();
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

/* A wait has brought something, or not; *since is when one did. */
static void
check_silence(PGconn *conn, bool came, int64 *since)
{
	if (!came && is_watched(conn))
	{
		if (clock_monotonic_ms() < *since + state.timeout_ms)
			return;
		/* what was sent before the question is here when it is answered */
		if (is_in_vain(conn) && !session_wait_input(conn))
			session_lost("the server has sent the leader nothing for --stall-timeout, though its session has nothing else to do, or cannot be asked");
	}
	*since = clock_monotonic_ms();
}

void
leader_watchdog_watch(PGconn *conn, const PeerAddress *address,
					  const Options *options)
{
	WatchedSession *session;
	PGresult   *res;

	if (options->stall_timeout == 0)
		return;
	res = session_exec_within(conn, session_self_query, ANSWER_MS);
	if (res == NULL)
		session_lost("the server does not answer");
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		session_failed(conn, res, "query failed", session_self_query);
	session = pg_malloc(sizeof(WatchedSession));
	session->address = address;
	session->backend = atoi(PQgetvalue(res, 0, SELF_BACKEND));
	PQclear(res);
	/* a second watch calls the one that was set first */
	if (state.timeout_ms == 0)
		(void) session_wait_set_watch(check_silence);
	state.timeout_ms = (int64) options->stall_timeout * 1000;
	state.max_unanswered = (int) options->retries;
	/* nor may sending wait without end; PQexec() does not care */
	if (!PQregisterEventProc(conn, ignore_event, "pg_pardump", NULL) ||
		!PQsetInstanceData(conn, ignore_event, session) ||
		PQsetnonblocking(conn, true) != 0)
		pg_fatal("out of memory");
}

static void
watch_rows(PGconn *conn, bool came)
{
	check_silence(conn, came, &state.since);
	progress_tick();
}

void
leader_watchdog_watch_rows(void)
{
	state.since = clock_monotonic_ms();
	session_wait_set_rows_watch(watch_rows);
}

/*
 * session_wait.c
 *		Waits for the server, and lets others see that.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <signal.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "process/worker_process.h"
#include "session/session_wait.h"
#include "session/traffic.h"

/* How long a moment is. */
#define MOMENT_MS 200

/* Calls of libpq have no argument for it: this is the process's. */
typedef struct WaitState
{
	WaitCount  *count;
	SessionWaitWatch watch;
	SessionRowsWatch rows_watch;
} WaitState;

static WaitCount nobody_looks;
static WaitState state = {.count = &nobody_looks};

/* ----------
 * Who looks
 * ----------
 */

/* Safe in a handler, which may have interrupted anything. */
static void
handle_stall(int signo)
{
	worker_process_lost_in_handler("the server has sent nothing for --stall-timeout, though its session has nothing else to do");
}

void
session_wait_begin_worker(WaitCount *count)
{
	state.count = count;
	state.rows_watch = NULL;
	*count = 0;
	signal(SIGUSR1, handle_stall);
}

SessionWaitWatch
session_wait_set_watch(SessionWaitWatch watch)
{
	SessionWaitWatch before = state.watch;

	state.watch = watch;
	return before;
}

void
session_wait_set_rows_watch(SessionRowsWatch watch)
{
	state.rows_watch = watch;
}

/* ----------
 * Waits
 * ----------
 */
void
session_wait_begins(void)
{
	*state.count |= 1;
}

/* The next wait has another number. */
void
session_wait_ends(void)
{
	*state.count = (*state.count | 1) + 1;
}

bool
session_wait_input(PGconn *conn)
{
	struct pollfd fd = {.fd = PQsocket(conn),.events = POLLIN};
	bool		result;

	if (PQflush(conn) > 0)
		fd.events |= POLLOUT;
	session_wait_begins();
	result = poll(&fd, 1, MOMENT_MS) > 0;
	if (result)
		session_wait_ends();
	return result;
}

PGresult *
session_wait_result(PGconn *conn, int wait_ms)
{
	int64		since = clock_monotonic_ms();
	PGresult   *res = NULL;
	PGresult   *next;

	for (;;)
	{
		while (PQisBusy(conn))
		{
			bool		came;

			interrupt_check();
			came = session_wait_input(conn);
			if (!PQconsumeInput(conn))
			{
				PQclear(res);
				return PQmakeEmptyPGresult(conn, PGRES_FATAL_ERROR);
			}
			if (wait_ms < 0)
			{
				if (state.watch)
					state.watch(conn, came, &since);
			}
			else if (PQisBusy(conn) && clock_monotonic_ms() >= since + wait_ms)
			{
				PQclear(res);
				return NULL;
			}
		}
		next = PQgetResult(conn);
		if (next == NULL)
			return res;
		PQclear(res);
		res = next;
		/* else the same would come again and again */
		switch (PQresultStatus(res))
		{
			case PGRES_COPY_OUT:
			case PGRES_COPY_IN:
			case PGRES_COPY_BOTH:
				return res;
			default:
				if (PQstatus(conn) == CONNECTION_BAD)
					return res;
		}
	}
}

/*
 * PQgetCopyData() itself would wait until the whole message is here, which
 * takes long for a large one on a slow network, where nothing is wrong.
 */
int
session_wait_copy_data(PGconn *conn, char **message)
{
	int			len;

	while ((len = PQgetCopyData(conn, message, 1)) == 0)
	{
		bool		came = session_wait_input(conn);

		if (state.rows_watch)
			state.rows_watch(conn, came);
		if (!PQconsumeInput(conn))
			return -2;
	}
	session_wait_ends();
	if (len > 0)
		traffic_take(len);
	return len;
}

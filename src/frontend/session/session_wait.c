/*
 * session_wait.c
 *		Waits for what a statement returns.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "session/session_wait.h"
#include "session/traffic.h"

/* Calls of session_exec() have no argument for it: this is the process's. */
static SessionWaitWatch wait_watch;

void
session_wait_set_watch(SessionWaitWatch watch)
{
	wait_watch = watch;
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
			came = traffic_wait_input(conn);
			if (!PQconsumeInput(conn))
			{
				PQclear(res);
				return PQmakeEmptyPGresult(conn, PGRES_FATAL_ERROR);
			}
			if (wait_ms < 0)
			{
				if (wait_watch)
					wait_watch(conn, came, &since);
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
		if (PQresultStatus(res) == PGRES_COPY_OUT ||
			PQstatus(conn) == CONNECTION_BAD)
			return res;
	}
}

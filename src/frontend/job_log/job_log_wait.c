/*
 * job_log_wait.c
 *		Waits for other sessions, and tells who they are.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/message.h"
#include "job_log/job_log_schema.h"
#include "job_log/job_log_wait.h"
#include "session/connection.h"
#include "session/session_loss.h"

/* When a wait is told first; then after twice as long, each time, up to: */
#define FIRST_TOLD_MS 5000
#define TOLD_AGAIN_MS 60000

/* How often to look at the clock meanwhile. */
#define LOOK_MS 500

/* How long the server may take to say who it is. */
#define ANSWER_MS 15000

/*
 * Who keeps this process waiting, as far as the role may know.  A session
 * that its client has given up, but not the server, still exists.
 */
static const char blocking_query[] =
"SELECT b.pid, COALESCE(a.usename, '?'), COALESCE(a.application_name, '?'),"
" COALESCE(pg_catalog.host(a.client_addr), CASE WHEN a.state IS NULL"
" THEN 'an unknown host' ELSE 'the server''s own host' END),"
" COALESCE(a.state, 'unknown'),"
" COALESCE(EXTRACT(epoch FROM pg_catalog.clock_timestamp()"
" OPERATOR(pg_catalog.-) a.state_change)::pg_catalog.int8, 0)"
" FROM (SELECT DISTINCT pg_catalog.unnest(pg_catalog.pg_blocking_pids(%d)) AS pid) b"
" LEFT JOIN pg_catalog.pg_stat_activity a"
" ON a.pid OPERATOR(pg_catalog.=) b.pid ORDER BY b.pid";

const JobLogWait job_log_wait_claim = {
	.doing = "to do",
	.why = "which another session has begun, and not committed",
	.hint = "If that one is stopped, or its host hangs, end it there, or by pg_terminate_backend() with its number: what it has not committed is undone, and done by others."
};

const JobLogWait job_log_wait_look_at = {
	.doing = "to look at schema",
	.why = "which another session has locked",
	.hint = "What locks it, or is to remove it, ends by itself, or can be ended there."
};

const JobLogWait job_log_wait_removal = {
	.doing = "to remove schema",
	.why = "which another session reads",
	.hint = "All is done but that. A dump or a query that reads it ends by itself, or can be ended there."
};

static void
tell_sessions(const PGresult *sessions)
{
	for (int i = 0; i < PQntuples(sessions); i++)
	{
		char	   *user = pg_strdup(printable(PQgetvalue(sessions, i, 1)));
		char	   *application = pg_strdup(printable(PQgetvalue(sessions, i, 2)));

		pg_log_warning_detail("Process %s of role \"%s\", application \"%s\", from %s: %s for %s s.",
							  PQgetvalue(sessions, i, 0), user, application,
							  PQgetvalue(sessions, i, 3),
							  PQgetvalue(sessions, i, 4),
							  PQgetvalue(sessions, i, 5));
		free(user);
		free(application);
	}
}

/*
 * As whoever has connected: the role of --role may see less.  A server that
 * cannot be asked is no matter, as the wait itself finds that out.
 */
static void
tell(const Target *target, int backend, const JobLogWait *wait, const char *name,
	 int64 waited_ms)
{
	PGconn	   *conn = connection_try_peer(target->address, "pg_pardump");
	char	   *sql = psprintf(blocking_query, backend);
	PGresult   *sessions = session_exec_within(conn, sql, ANSWER_MS);
	bool		known = PQresultStatus(sessions) == PGRES_TUPLES_OK;

	/* with none in its way it has waited for something else, or no more */
	if (!known || PQntuples(sessions) > 0)
	{
		pg_log_warning("waiting for %d s by now %s \"%s\", %s",
					   (int) (waited_ms / 1000), wait->doing, printable(name),
					   wait->why);
		if (known)
			tell_sessions(sessions);
		else
			pg_log_warning_detail("Who it is could not be asked: %s",
								  connection_words(conn));
		pg_log_warning_hint("%s", wait->hint);
	}
	PQclear(sessions);
	free(sql);
	PQfinish(conn);
}

static bool
send(PGconn *conn, const char *sql, int n_params, const char *const *params)
{
	if (n_params == 0)
		return PQsendQuery(conn, sql);
	return PQsendQueryParams(conn, sql, n_params, NULL, params, NULL, NULL, 0);
}

/*
 * Whoever watches a worker looks at the source, which has nothing to do with
 * this: so no wait is a long one (session_loss.h).
 */
PGresult *
job_log_wait_exec(const Target *target, PGconn *conn, const JobLogWait *wait,
				  const char *name, const char *sql, int n_params,
				  const char *const *params)
{
	int64		begun_at = clock_monotonic_ms();
	int64		tell_after_ms = FIRST_TOLD_MS;
	PGresult   *res = NULL;

	if (!send(conn, sql, n_params, params))
		return NULL;
	while ((res = session_wait_result(conn, LOOK_MS)) == NULL &&
		   PQtransactionStatus(conn) == PQTRANS_ACTIVE)
	{
		int64		waited_ms = clock_monotonic_ms() - begun_at;

		session_wait_ends();
		if (waited_ms < tell_after_ms)
			continue;
		tell(target, PQbackendPID(conn), wait, name, waited_ms);
		tell_after_ms += Min(tell_after_ms, TOLD_AGAIN_MS);
	}
	return res;
}

/*
 * table_lock.c
 *		Locks tables without getting in a queue.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "session/session.h"
#include "session/session_lost.h"
#include "session/table_lock.h"

/* How long to wait between two tries to get a lock. */
#define LOCK_RETRY_MS 100

/* Without --lock-wait-timeout. */
#define DEFAULT_LOCK_WAIT_MS 5000

/* LOCK TABLE names this many tables at once. */
#define LOCK_BATCH 500

int
table_lock_wait_ms(PGconn *conn, const Options *options)
{
	const char *params[] = {options->lock_wait_timeout};
	int			result = 0;

	if (options->lock_wait_timeout)
	{
		PQclear(session_query_params(conn, "SELECT pg_catalog.set_config('lock_timeout', $1, false)",
									 1, params, 0));
		result = atoi(session_value(conn, "SELECT setting FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'lock_timeout'"));
		session_command(conn, "SET lock_timeout = 0");
	}
	return result > 0 ? result : DEFAULT_LOCK_WAIT_MS;
}

/* In one round trip, if it can be had; NULL then, else the message; owned. */
static char *
try_lock(PGconn *conn, char *const *names, int n_names, bool *is_busy)
{
	PQExpBufferData sql = buffer_new();
	PGresult   *res;
	char	   *message = NULL;

	appendPQExpBufferStr(&sql, SESSION_SAVEPOINT "; LOCK TABLE");
	/* ONLY: partitions and children are in the list themselves, if at all */
	for (int i = 0; i < n_names; i++)
		appendPQExpBuffer(&sql, "%s ONLY %s", i > 0 ? "," : "", names[i]);
	appendPQExpBufferStr(&sql, " IN ACCESS SHARE MODE NOWAIT; " SESSION_RELEASE);
	res = session_exec(conn, sql.data);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
	{
		/* lock_not_available; all else is final, unless it is asked for */
		bool		busy = session_error_is(res, "55P03");

		if (!busy && (is_busy == NULL || session_is_lost(conn, res)))
			session_failed(conn, res, "query failed", sql.data);
		if (is_busy)
			*is_busy = busy;
		message = pg_strdup(PQresultErrorMessage(res));
		/* both: a savepoint rolled back to stays, and they would nest */
		session_command(conn, SESSION_ROLLBACK_TO "; " SESSION_RELEASE);
	}
	PQclear(res);
	termPQExpBuffer(&sql);
	return message;
}

bool
table_lock_try(PGconn *conn, char *const *names, int n_names)
{
	return n_names == 0 || try_lock(conn, names, n_names, NULL) == NULL;
}

/*
 * Returns the message if a table stays busy, or after any other error if
 * is_busy is given; NULL if all are locked.
 */
static char *
lock_batch(PGconn *conn, char *const *names, int n_names, int wait_ms,
		   bool *is_busy)
{
	int64		start = clock_monotonic_ms();
	char	   *message;

	/*
	 * To wait in the server's queue would block all who come after us, and
	 * among these may be the other sessions of this run.
	 */
	while ((message = try_lock(conn, names, n_names, is_busy)) != NULL)
	{
		interrupt_check();
		if ((is_busy && !*is_busy) || clock_monotonic_ms() >= start + wait_ms)
			return message;
		free(message);
		pg_usleep(LOCK_RETRY_MS * 1000L);
	}
	return NULL;
}

void
table_lock_take(PGconn *conn, char *const *names, int n_names, int wait_ms)
{
	for (int first = 0; first < n_names; first += LOCK_BATCH)
	{
		char	   *message = lock_batch(conn, names + first,
										 Min(LOCK_BATCH, n_names - first),
										 wait_ms, NULL);

		if (message == NULL)
			continue;
		pg_log_error("could not lock table: %s", message);
		pg_log_error_detail(session_is_standby(conn) ?
							"Replay (the startup process) holds or is waiting for an exclusive lock on the table." :
							"Another session holds or is waiting for an exclusive lock on the table.");
		pg_fatal_hint("Run the same command when the lock is released, or wait longer with --lock-wait-timeout.");
	}
}

char *
table_lock_attempt(PGconn *conn, char *const *names, int n_names, int wait_ms)
{
	char	   *message = NULL;
	bool		is_busy;

	for (int first = 0; first < n_names && message == NULL; first += LOCK_BATCH)
		message = lock_batch(conn, names + first,
							 Min(LOCK_BATCH, n_names - first), wait_ms,
							 &is_busy);
	return message;
}

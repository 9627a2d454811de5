/*
 * table_lock.c
 *		Locks tables without waiting in the server's queue of locks.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "session/session.h"
#include "session/session_lost.h"
#include "session/table_lock.h"

/* How long to wait between two attempts to get a lock. */
#define LOCK_RETRY_MS 100

/* How long to try without --lock-wait-timeout. */
#define DEFAULT_LOCK_WAIT_MS 5000

/* A LOCK TABLE statement names at most this many tables. */
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

/*
 * Lock the tables in one round trip, without a wait.  Returns NULL on
 * success, else the server's primary message (owned).
 */
static char *
try_lock(PGconn *conn, char *const *names, int n_names, bool *is_busy)
{
	PQExpBufferData sql = buffer_new();
	PGresult   *res;
	char	   *message = NULL;

	appendPQExpBufferStr(&sql, SESSION_SAVEPOINT "; LOCK TABLE");

	/*
	 * ONLY, because partitions and children are in the list themselves if
	 * they are needed.
	 */
	for (int i = 0; i < n_names; i++)
		appendPQExpBuffer(&sql, "%s ONLY %s", i > 0 ? "," : "", names[i]);
	appendPQExpBufferStr(&sql, " IN ACCESS SHARE MODE NOWAIT; " SESSION_RELEASE);
	res = session_exec(conn, sql.data);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
	{
		/*
		 * lock_not_available.  Any other error ends the run, unless the
		 * caller wants to know it.
		 */
		bool		busy = session_error_is(res, "55P03");

		if (!busy && (is_busy == NULL || session_is_lost(conn, res)))
			session_failed(conn, res, "query failed", sql.data);
		if (is_busy)
			*is_busy = busy;
		message = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
		message = pg_strdup(message ? message : PQresultErrorMessage(res));

		/*
		 * RELEASE, too: ROLLBACK TO keeps the savepoint, so that the
		 * savepoints of several attempts would be nested.
		 */
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
 * Try to lock the tables until wait_ms have passed.  Returns NULL if all are
 * locked.  Returns the message if a table is still locked by others or, if
 * is_busy is not NULL, after any other error.
 */
static char *
lock_batch(PGconn *conn, char *const *names, int n_names, int wait_ms,
		   bool *is_busy)
{
	int64		start = clock_monotonic_ms();
	char	   *message;

	/*
	 * A request in the server's queue would block all later requests, which
	 * may come from other sessions of this run.
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
							"Replay (the startup process) holds or is waiting for an ACCESS EXCLUSIVE lock on the table." :
							"Another session holds or is waiting for an ACCESS EXCLUSIVE lock on the table.");
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

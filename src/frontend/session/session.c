/*
 * session.c
 *		Runs statements in a session.
 */
#include "base/fe_compat.h"

#include "session/session.h"
#include "session/session_loss.h"
#include "session/session_wait.h"

/* How long a session that has nothing else to do may take for an answer. */
#define ANSWER_MS 15000

/* PQgetvalue(), and what the linker makes of calls of it. */
extern char *__real_PQgetvalue(const PGresult *res, int row, int column);
extern char *__wrap_PQgetvalue(const PGresult *res, int row, int column);

const char	session_backend_query[] = "SELECT pg_catalog.pg_backend_pid()";

/*
 * Whoever asks for a value relies on the rows and columns that the statement
 * has.  Of a server that sends others libpq would give NULL: so the linker
 * leads all calls here ("--wrap" in the manual of ld).
 */
char *
__wrap_PQgetvalue(const PGresult *res, int row, int column)
{
	if (row < 0 || row >= PQntuples(res) || column < 0 ||
		column >= PQnfields(res))
		pg_fatal("unexpected answer from the server: %d rows of %d columns",
				 PQntuples(res), PQnfields(res));
	return __real_PQgetvalue(res, row, column);
}

int
session_number(const PGresult *res, int row, int column, int least, int most)
{
	const char *text = PQgetvalue(res, row, column);
	char	   *end;
	long		number = strtol(text, &end, 10);

	if (end == text || *end != '\0' || number < least || number > most)
		pg_fatal("unexpected answer from the server: \"%s\" is no number from %d to %d",
				 text, least, most);
	return (int) number;
}

PGresult *
session_exec(PGconn *conn, const char *sql)
{
	PGresult   *res;

	session_wait_begins();
	res = PQsendQuery(conn, sql) ? session_wait_result(conn, -1) : NULL;
	session_wait_ends();
	return res;
}

PGresult *
session_exec_within(PGconn *conn, const char *sql, int wait_ms)
{
	return PQsendQuery(conn, sql) ? session_wait_result(conn, wait_ms) : NULL;
}

void
session_end_results(PGconn *conn)
{
	PGresult   *res;

	while ((res = PQgetResult(conn)) != NULL)
	{
		/* a connection that breaks says so */
		if (PQresultStatus(res) != PGRES_FATAL_ERROR)
			pg_fatal("unexpected answer from the server: more than one result of a statement");
		PQclear(res);
	}
}

/*
 * The connection's own state would not do: libpq takes it for sound after a
 * failed write, if all it could read was the server's last words.
 */
bool
session_answers(PGconn *conn)
{
	PGresult   *res = session_exec_within(conn, "SELECT 1", ANSWER_MS);
	bool		result = PQresultStatus(res) == PGRES_TUPLES_OK;

	PQclear(res);
	return result;
}

PGresult *
session_look(PGconn *conn, const char *query, int wait_ms, bool *lost)
{
	char	   *sql = psprintf("SAVEPOINT look; SET LOCAL ROLE NONE;"
							   " SELECT pg_catalog.pg_stat_clear_snapshot(); %s",
							   query);
	PGresult   *res = session_exec_within(conn, sql, wait_ms);
	PGresult   *end = NULL;

	free(sql);
	if (res && !session_is_lost(conn, res))
		end = session_exec_within(conn,
								  "ROLLBACK TO SAVEPOINT look; RELEASE SAVEPOINT look",
								  wait_ms);
	*lost = PQresultStatus(end) != PGRES_COMMAND_OK;
	PQclear(end);
	return res;
}

PGresult *
session_query(PGconn *conn, const char *sql)
{
	PGresult   *res = session_exec(conn, sql);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		session_failed(conn, res, "query failed", sql);
	return res;
}

PGresult *
session_query_params(PGconn *conn, const char *sql, int n_params,
					 const char *const *params, int result_format)
{
	PGresult   *res;

	session_wait_begins();
	res = PQsendQueryParams(conn, sql, n_params, NULL, params, NULL, NULL,
							result_format) ? session_wait_result(conn, -1) : NULL;
	session_wait_ends();

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		session_failed(conn, res, "query failed", sql);
	return res;
}

int64 *
session_numbers(const PGresult *res, int column, int *n)
{
	const char *pos = PQgetvalue(res, 0, column);
	int64	   *numbers = pg_malloc((strlen(pos) + 1) * sizeof(int64));

	*n = 0;
	if (*pos++ != '{')
		return NULL;
	while (*pos != '}')
	{
		char	   *end;

		numbers[(*n)++] = strtoll(pos, &end, 10);
		if (end == pos || (*end != ',' && *end != '}'))
			return NULL;
		pos = *end == ',' ? end + 1 : end;
	}
	return numbers;
}

void
session_command(PGconn *conn, const char *sql)
{
	PGresult   *res = session_exec(conn, sql);

	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		session_failed(conn, res, "query failed", sql);
	PQclear(res);
}

/*
 * session.c
 *		Runs statements in a session, and begins its transactions.
 *
 * All waits go through session_wait_result(), so that a signal or a watch can
 * end them.  Each transaction begins with a query for the session's marker,
 * which shows whether a pooler gives transactions to other backends
 * (session.h).
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <sys/socket.h>

#include "fe_utils/string_utils.h"
#include "libpq-events.h"
#include "mb/pg_wchar.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/hex.h"
#include "session/session.h"
#include "session/session_lost.h"

/* How long an idle session may take to answer. */
#define ANSWER_MS 15000

/* How long a session that will be closed may take to answer. */
#define CLOSE_MS 5000

/* How long to wait until the server has ended a session. */
#define END_WAIT_MS 2000

/* Values of wait_ms for a wait without a limit, with and without a watch. */
#define WATCHED (-1)
#define UNWATCHED (-2)

const char	session_recovery_query[] = "SELECT pg_catalog.pg_is_in_recovery()";

/* libpq's PQgetvalue(), and the function that the linker calls instead. */
extern char *__real_PQgetvalue(const PGresult *res, int row, int column);
extern char *__wrap_PQgetvalue(const PGresult *res, int row, int column);

/* The setting that contains the session's marker, and the marker's length. */
#define MARKER "pardump.session"
#define MARKER_BYTES 16

/*
 * The start of the server is in microseconds, because the text of a float8
 * would depend on extra_float_digits, which differs between sessions.
 */
const char	session_self_query[] =
"SELECT pg_catalog.pg_backend_pid(),"
" (pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time())"
" OPERATOR(pg_catalog.*) 1000000::pg_catalog.float8)::pg_catalog.int8,"
" pg_catalog.txid_current_snapshot(), pg_catalog.current_setting('" MARKER "', true),"
" (" SESSION_MAY_EXECUTE("pg_catalog.pg_control_system()") "),"
" (" SESSION_MAY_EXECUTE("pg_catalog.pg_control_system();pg_catalog.pg_control_checkpoint();"
						 "pg_catalog.pg_control_recovery()") "),"
" pg_catalog.pg_is_in_recovery()";

void
session_unexpected(const char *detail)
{
	pg_log_error("unexpected answer from the server");
	pg_log_error_detail("%s", detail);
	pg_fatal_hint("If you connect through a connection pooler or a proxy, connect to the server itself.");
}

void
session_unexpected_extension(const char *detail)
{
	pg_log_error("unexpected answer from extension pg_pardump");
	pg_log_error_detail("%s", detail);
	pg_fatal_hint("Install release " PARDUMP_VERSION " of extension pg_pardump on the server.");
}

/*
 * A caller that asks for a value relies on the rows and columns of its
 * statement.  If a server sends other ones, libpq returns NULL, which would
 * crash the program.  So the linker replaces all calls of PQgetvalue() by
 * calls of this function ("--wrap" in the manual of ld).
 */
char *
__wrap_PQgetvalue(const PGresult *res, int row, int column)
{
	if (row < 0 || row >= PQntuples(res) || column < 0 ||
		column >= PQnfields(res))
		session_unexpected(psprintf("The number of rows is %d, and the number of columns is %d.",
									PQntuples(res), PQnfields(res)));
	return __real_PQgetvalue(res, row, column);
}

bool
result_is_true(const PGresult *res, int row, int column)
{
	return PQgetvalue(res, row, column)[0] == 't';
}

Oid
result_oid(const PGresult *res, int row, int column)
{
	return (Oid) strtoul(PQgetvalue(res, row, column), NULL, 10);
}

uint64
result_number(const PGresult *res, int row, int column)
{
	return strtoull(PQgetvalue(res, row, column), NULL, 10);
}

int
session_number(const PGresult *res, int row, int column, int least, int most)
{
	const char *text = PQgetvalue(res, row, column);
	char	   *end;
	long		number = strtol(text, &end, 10);

	if (end == text || *end != '\0' || number < least || number > most)
		session_unexpected(psprintf("\"%s\" is not a number from %d to %d.",
									printable(text), least, most));
	return (int) number;
}

void
session_expect_tables(const PGresult *res, int n)
{
	if (PQntuples(res) != n)
		session_unexpected(psprintf("The number of tables is %d instead of %d.",
									PQntuples(res), n));
}

PGresult *
session_exec(PGconn *conn, const char *sql)
{
	PGresult   *res;

	session_wait_begins();

	/*
	 * PQexec() would wait in recv(), where neither a signal nor a watch could
	 * end the wait.  NULL means that libpq could not even send the statement;
	 * its message contains the reason.
	 */
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
		/* A broken connection also gives a result, with this status. */
		if (PQresultStatus(res) != PGRES_FATAL_ERROR)
			session_unexpected("A statement has more than one result.");
		PQclear(res);
	}
}

/*
 * The state of the connection is not enough: after a failed write, libpq may
 * keep CONNECTION_OK if it could still read the server's last message.
 */
bool
session_answers(PGconn *conn)
{
	PGresult   *res = session_exec_within(conn, "SHOW " MARKER, ANSWER_MS);
	bool		result = PQresultStatus(res) == PGRES_TUPLES_OK;

	PQclear(res);
	return result;
}

bool
session_has_ended(PGconn *conn)
{
	bool		is_there = PQconsumeInput(conn) != 0;

	/* Make libpq read the message with which the server ends the session. */
	PQfreemem(PQnotifies(conn));
	return !is_there || PQstatus(conn) != CONNECTION_OK;
}

PGresult *
session_look(PGconn *conn, const char *query, int wait_ms, bool *lost)
{
	char	   *sql = psprintf(SESSION_SAVEPOINT "; "
							   SESSION_SET_LOCAL("role", "none") "; %s",
							   query);
	PGresult   *res = session_exec_within(conn, sql, wait_ms);
	PGresult   *end = NULL;

	free(sql);

	/*
	 * The savepoint undoes an error of the query: the transaction must remain
	 * usable, because it has the snapshot and the locks.
	 */
	if (res && !session_is_lost(conn, res))
		end = session_exec_within(conn,
								  SESSION_ROLLBACK_TO "; " SESSION_RELEASE,
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

char *
session_value(PGconn *conn, const char *sql)
{
	PGresult   *res = session_query(conn, sql);
	char	   *result = pg_strdup(PQgetvalue(res, 0, 0));

	PQclear(res);
	return result;
}

bool
session_is_true(PGconn *conn, const char *sql)
{
	char	   *value = session_value(conn, sql);
	bool		result = value[0] == 't';

	free(value);
	return result;
}

int
session_backend(PGconn *conn)
{
	/* The process ID is the first column. */
	return atoi(session_value(conn, session_self_query));
}

bool
session_may_execute(PGconn *conn, const char *functions)
{
	return session_is_true(conn, psprintf(SESSION_MAY_EXECUTE("%s"), functions));
}

/* ----------
 * Settings
 * ----------
 */
char *
session_literal(PGconn *conn, const char *text)
{
	PQExpBufferData buf = buffer_new();

	appendStringLiteralConn(&buf, text, conn);
	return buf.data;
}

void
session_append_set(PQExpBuffer sql, PGconn *conn, const char *name,
				   const char *value, bool is_local)
{
	appendPQExpBuffer(sql, "%sSELECT pg_catalog.set_config('%s', ",
					  sql->len > 0 ? "; " : "", name);
	appendStringLiteralConn(sql, value, conn);
	appendPQExpBuffer(sql, ", %s)", is_local ? "true" : "false");
}

void
session_set(PGconn *conn, const char *name, const char *value, bool is_local)
{
	PQExpBufferData sql = buffer_new();

	session_append_set(&sql, conn, name, value, is_local);
	PQclear(session_query(conn, sql.data));
	termPQExpBuffer(&sql);
}

/* ----------
 * The marker
 * ----------
 */

/*
 * A PGEventProc.  libpq stores the marker's value with the connection, and
 * calls this function when the connection is closed, so that the value is
 * freed.
 */
static int
keep_marker(PGEventId event, void *info, void *arg)
{
	if (event == PGEVT_CONNDESTROY)
		free(PQinstanceData(((PGEventConnDestroy *) info)->conn, keep_marker));
	return true;
}

static const char *
marker_of(const PGconn *conn)
{
	return PQinstanceData(conn, keep_marker);
}

pg_noreturn static void
refuse_pooler(const PGconn *conn, const char *detail)
{
	pg_log_error("the connection pooler at \"%s\", port %s, does not keep one server session for each client",
				 printable(PQhost(conn)), PQport(conn));
	pg_log_error_detail("%s", detail);
	pg_fatal_hint("Connect to the server directly, or through a connection pooler with session pooling (PgBouncer: pool_mode = session).");
}

/*
 * Has PgBouncer in statement mode refused a transaction?  Its message is not
 * translated.
 */
static bool
refuses_transactions(const PGconn *conn)
{
	return strstr(PQerrorMessage(conn), "in statement pooling mode") != NULL;
}

/*
 * Compare the marker in a column with the session's.  If SHOW or the
 * statement before it failed, the result is an error, without columns.
 */
static void
check_marker(const PGconn *conn, const PGresult *res, int column)
{
	bool		has_rows = PQresultStatus(res) == PGRES_TUPLES_OK;

	/* ERRCODE_UNDEFINED_OBJECT: "unrecognized configuration parameter" */
	if (session_error_is(res, "42704") ||
		(has_rows && PQgetisnull(res, 0, column)))
		refuse_pooler(conn, "The setting " MARKER " of a session was missing in its next transaction.");
	if (has_rows && strcmp(PQgetvalue(res, 0, column), marker_of(conn)) != 0)
		refuse_pooler(conn, "A transaction found the setting " MARKER " of another session.");
	if (!has_rows && refuses_transactions(conn))
		refuse_pooler(conn, "It does not allow transactions.");
}

static PGresult *
session_run(PGconn *conn, const char *sql, int wait_ms)
{
	if (wait_ms == UNWATCHED)
		return PQexec(conn, sql);
	return wait_ms == WATCHED ? session_exec(conn, sql) :
		session_exec_within(conn, sql, wait_ms);
}

/*
 * Give the session a marker, unless it has one.  Returns NULL on success,
 * else the result of the failed statement.
 */
static PGresult *
set_marker(PGconn *conn, int wait_ms)
{
	char	   *value;
	char	   *sql;
	PGresult   *res;

	if (marker_of(conn))
		return NULL;
	/* A random value, so that no other session has the same. */
	value = hex_random(MARKER_BYTES);
	/* The role's timeouts could be too short even for this statement. */
	sql = psprintf(SESSION_BEGIN_SETTINGS "; " SESSION_SET(MARKER, "%s") "; COMMIT",
				   value);
	res = session_run(conn, sql, wait_ms);
	free(sql);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
	{
		if (refuses_transactions(conn))
			refuse_pooler(conn, "It does not allow transactions.");
		free(value);
		return res ? res : PQmakeEmptyPGresult(conn, PGRES_FATAL_ERROR);
	}
	PQclear(res);

	/*
	 * Remember the marker only now, because a marker that was not set must
	 * not be expected.
	 */
	if (!PQregisterEventProc(conn, keep_marker, "pg_pardump marker", NULL) ||
		!PQsetInstanceData(conn, keep_marker, value))
		pg_fatal("out of memory");
	return NULL;
}

/* ----------
 * Transactions
 * ----------
 */
static PGresult *
begin(PGconn *conn, const char *sql, int wait_ms)
{
	PGresult   *res = set_marker(conn, wait_ms);
	char	   *text;

	if (res)
		return res;
	text = psprintf("%s; SHOW " MARKER, sql);
	res = session_run(conn, text, wait_ms);
	free(text);
	check_marker(conn, res, 0);
	return res;
}

static void
insist_to_begin(PGconn *conn, const char *sql, int wait_ms)
{
	PGresult   *res = begin(conn, sql, wait_ms);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		session_failed(conn, res, "query failed", sql);
	PQclear(res);
}

void
session_begin(PGconn *conn, const char *sql)
{
	insist_to_begin(conn, sql, WATCHED);
}

void
session_begin_unwatched(PGconn *conn, const char *sql)
{
	insist_to_begin(conn, sql, UNWATCHED);
}

bool
session_try_begin(PGconn *conn, const char *sql, int wait_ms)
{
	PGresult   *res = begin(conn, sql, wait_ms);
	bool		result = PQresultStatus(res) == PGRES_TUPLES_OK;

	PQclear(res);
	return result;
}

bool
session_begin_settings(PGconn *conn)
{
	if (PQtransactionStatus(conn) == PQTRANS_INTRANS)
		return false;
	session_begin(conn, SESSION_BEGIN_SETTINGS);
	return true;
}

void
session_end_settings(PGconn *conn, bool begun)
{
	if (begun)
		session_command(conn, "COMMIT");
}

void
session_command_settings(PGconn *conn, const char *sql)
{
	bool		begun = session_begin_settings(conn);
	char	   *text = psprintf("%s%s", sql, begun ? "; COMMIT" : "");
	PGresult   *res = session_exec(conn, text);

	if (session_refused(conn, res, sql))
		session_failed(conn, res, "query failed", sql);
	PQclear(res);
	free(text);
}

/* Undo the settings that a pooler would leave to its next client. */
static void
leave_nothing(PGconn *conn)
{
	/* While an answer is awaited, libpq does not send another statement. */
	if (conn && marker_of(conn) && PQstatus(conn) == CONNECTION_OK)
	{
		PGTransactionStatusType status = PQtransactionStatus(conn);

		/* DISCARD ALL is not allowed within a transaction */
		if (status == PQTRANS_INTRANS || status == PQTRANS_INERROR)
			PQclear(session_exec_within(conn, "ROLLBACK", CLOSE_MS));
		/* RESET ALL would keep the role of SET ROLE. */
		if (PQtransactionStatus(conn) == PQTRANS_IDLE)
			PQclear(session_exec_within(conn, "DISCARD ALL", CLOSE_MS));
	}
}

void
session_close(PGconn *conn)
{
	leave_nothing(conn);
	PQfinish(conn);
}

/*
 * Closing only the sending direction makes the backend exit.  The backend
 * closes its socket after it has given up its place among the connections
 * (pqcomm.c:socket_close), so the end of its output is the sign to wait for.
 */
void
session_close_and_wait(PGconn *conn)
{
	struct pollfd fd = {.events = POLLIN};
	int64		end = clock_monotonic_ms() + END_WAIT_MS;
	char		rest[64];

	leave_nothing(conn);
	fd.fd = PQsocket(conn);
	if (fd.fd >= 0 && shutdown(fd.fd, SHUT_WR) == 0)
		while (poll(&fd, 1, (int) Max(end - clock_monotonic_ms(), 0)) > 0 &&
			   read(fd.fd, rest, sizeof(rest)) > 0)
			continue;
	PQfinish(conn);
}

/* ----------
 * The probe
 * ----------
 */

/*
 * One of the two sessions of the probe, and how long it may take to answer.
 */
typedef struct ProbedSession
{
	PGconn	   *conn;
	int			wait_ms;
} ProbedSession;

/*
 * Which backend serves the session outside a transaction?  Owned; NULL if
 * there is no answer in time.
 */
static char *
ask_backend(const ProbedSession *session)
{
	PGresult   *res = session_run(session->conn, session_self_query, session->wait_ms);
	char	   *result = NULL;

	check_marker(session->conn, res, SELF_MARKER);
	if (PQresultStatus(res) == PGRES_TUPLES_OK)
		result = psprintf("%s %s", PQgetvalue(res, 0, SELF_BACKEND),
						  PQgetvalue(res, 0, SELF_SERVER_START));
	else if (session->wait_ms == WATCHED)
		session_failed(session->conn, res, "query failed", session_self_query);
	PQclear(res);
	return result;
}

/*
 * Look once whether both sessions keep their backends while the first one is
 * in a transaction.  Returns false if there is no answer.
 */
static bool
probe_once(const ProbedSession *first, const ProbedSession *second)
{
	/*
	 * A pooler in transaction mode assigns a backend to the client that
	 * begins a transaction.  So while one session is in a transaction the
	 * other must have another backend, and each session must find its marker
	 * in its backend.
	 */
	char	   *backends[] = {ask_backend(first), ask_backend(second)};
	bool		answered = backends[0] && backends[1];

	if (answered && strcmp(backends[0], backends[1]) == 0)
		refuse_pooler(first->conn, "Two open connections use the same server process.");
	if (!answered || !session_try_begin(first->conn, SESSION_BEGIN_SETTINGS,
										first->wait_ms))
		return false;
	answered = ask_backend(second) != NULL;
	PQclear(session_run(first->conn, "COMMIT", first->wait_ms));
	return answered;
}

bool
session_probe(PGconn *conn, PGconn *other, int n_tries)
{
	const ProbedSession sessions[] = {{conn, WATCHED}, {other, ANSWER_MS}};
	PGresult   *res = set_marker(conn, WATCHED);
	bool		answered;

	if (res)
		session_failed(conn, res, "query failed", "SET " MARKER);
	answered = set_marker(other, ANSWER_MS) == NULL;
	for (int i = 0; answered && i < n_tries; i++)
		answered = probe_once(&sessions[i % 2], &sessions[(i + 1) % 2]);
	return answered;
}

/* ----------
 * Writes array literals.
 * ----------
 */

/*
 * Replaces a text that the server's encoding cannot represent.  It is a valid
 * identifier, because the text may be one.
 */
#define UNCONVERTIBLE "pg_pardump_unconvertible_name"

/*
 * Ask the server to convert the text.  A failed conversion does not end the
 * transaction, because there is a savepoint.
 */
static bool
is_converted(PGconn *conn, const char *text)
{
	bool		in_block = PQtransactionStatus(conn) == PQTRANS_INTRANS;
	char	   *literal = PQescapeLiteral(conn, text, strlen(text));
	char	   *sql;
	PGresult   *res;
	bool		result;

	/* The text is invalid in the client's encoding, too. */
	if (literal == NULL)
		return false;
	if (in_block)
		PQclear(session_exec(conn, SESSION_SAVEPOINT));
	sql = psprintf("SELECT %s", literal);
	res = session_exec(conn, sql);
	result = PQresultStatus(res) == PGRES_TUPLES_OK;
	PQclear(res);
	if (in_block)
		PQclear(session_exec(conn, SESSION_ROLLBACK_TO "; " SESSION_RELEASE));
	free(sql);
	PQfreemem(literal);
	return result;
}

/*
 * Can the server's encoding represent this text?  If the server does not
 * convert, as in a session with client encoding SQL_ASCII, the bytes
 * themselves must be valid in the server's encoding.
 */
bool
text_is_convertible(PGconn *conn, const char *text)
{
	const char *name = PQparameterStatus(conn, "server_encoding");
	int			server = name ? pg_char_to_encoding(name) : -1;
	int			client = PQclientEncoding(conn);
	const char *c = text;

	while (*c && !IS_HIGHBIT_SET(*c))
		c++;
	if (*c == '\0' || server < 0 || server == PG_SQL_ASCII)
		return true;
	if (client == server || client == PG_SQL_ASCII)
		return pg_encoding_verifymbstr(server, text, strlen(text)) == (int) strlen(text);
	return is_converted(conn, text);
}

/*
 * Can the server's encoding represent all of these texts?  This needs a query
 * only in some encodings.
 */
static bool
all_are_convertible(PGconn *conn, char *const *texts, int n)
{
	PQExpBufferData all = buffer_new();
	bool		result;

	for (int i = 0; i < n; i++)
		appendPQExpBuffer(&all, "%s\n", texts[i]);
	result = !PQExpBufferDataBroken(all) && text_is_convertible(conn, all.data);
	termPQExpBuffer(&all);
	return result;
}

/*
 * In some client encodings (SJIS, BIG5, GBK, ...) a backslash may be the
 * second byte of a character, which must not be escaped.
 */
char *
text_array(PGconn *conn, char *const *texts, int n)
{
	PQExpBufferData buf = buffer_new();
	bool		all = all_are_convertible(conn, texts, n);

	appendPQExpBufferChar(&buf, '{');
	for (int i = 0; i < n; i++)
	{
		/*
		 * Ask for each text only if they could not be converted all together.
		 */
		const char *text = all || text_is_convertible(conn, texts[i]) ? texts[i] : UNCONVERTIBLE;

		appendPQExpBufferStr(&buf, i > 0 ? ",\"" : "\"");
		for (const char *c = text; *c;)
		{
			int			len = PQmblenBounded(c, PQclientEncoding(conn));

			if (*c == '"' || *c == '\\')
				appendPQExpBufferChar(&buf, '\\');
			appendBinaryPQExpBuffer(&buf, c, len);
			c += len;
		}
		appendPQExpBufferChar(&buf, '"');
	}
	appendPQExpBufferChar(&buf, '}');
	return buf.data;
}

char *
oid_array(const Oid *oids, int n)
{
	PQExpBufferData buf = buffer_new();

	appendPQExpBufferChar(&buf, '{');
	for (int i = 0; i < n; i++)
		appendPQExpBuffer(&buf, "%s%u", i > 0 ? "," : "", oids[i]);
	appendPQExpBufferChar(&buf, '}');
	return buf.data;
}

/* ----------
 * Queries about the backends of our sessions.
 * ----------
 */

/*
 * With track_activities = off pg_stat_activity does not show the state, but
 * does show waits.
 */
char *
backend_query_at_work(int backend)
{
	return psprintf(SESSION_FRESH_ACTIVITY "SELECT FROM pg_catalog.pg_stat_activity"
					" WHERE pid OPERATOR(pg_catalog.=) %d"
					" AND state OPERATOR(pg_catalog.=) ANY ('{active,disabled}')"
					" AND COALESCE(wait_event_type, '') OPERATOR(pg_catalog.<>) 'Client'",
					backend);
}

char *
backend_query_terminate(int backend, int min_age_s)
{
	return psprintf(SESSION_FRESH_ACTIVITY "SELECT pg_catalog.pg_terminate_backend(pid)"
					" FROM pg_catalog.pg_stat_activity"
					" WHERE pid OPERATOR(pg_catalog.=) %d"
					" AND usename OPERATOR(pg_catalog.=) SESSION_USER"
					" AND datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
					" AND backend_start OPERATOR(pg_catalog.<) (pg_catalog.clock_timestamp()"
					" OPERATOR(pg_catalog.-) pg_catalog.make_interval(secs => %d))",
					backend, min_age_s);
}

/*
 * Only sessions without a job keep their locks until the end of the run, so
 * only an idle session can block a waiting one forever.  Replay on a standby
 * is not a backend, and pg_blocking_pids() returns nothing for it.  Replay
 * waits for ACCESS EXCLUSIVE, which conflicts with every lock, so every
 * holder of a lock on the relation blocks it.
 */
static const char deadlock_query[] =
SESSION_FRESH_ACTIVITY "WITH RECURSIVE chain (waiter, first, blocker) AS ("
"SELECT w.pid, b.pid, b.pid FROM pg_catalog.unnest('{%s}'::pg_catalog.int4[]) w (pid),"
" pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) b (pid)"
" UNION SELECT c.waiter, c.first, b.pid FROM chain c,"
" pg_catalog.unnest(pg_catalog.pg_blocking_pids(c.blocker) OPERATOR(pg_catalog.||)"
" ARRAY(SELECT h.pid FROM pg_catalog.pg_locks w JOIN pg_catalog.pg_locks h"
" ON h.database OPERATOR(pg_catalog.=) w.database"
" AND h.relation OPERATOR(pg_catalog.=) w.relation AND h.granted"
" WHERE w.pid OPERATOR(pg_catalog.=) c.blocker AND NOT w.granted"
" AND w.mode OPERATOR(pg_catalog.=) 'AccessExclusiveLock'"
" AND h.pid OPERATOR(pg_catalog.<>) w.pid)) b (pid))"
" SELECT l.relation::pg_catalog.regclass, c.first FROM chain c"
" JOIN pg_catalog.pg_locks l ON l.pid OPERATOR(pg_catalog.=) c.waiter AND NOT l.granted"
" LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) c.blocker"
" WHERE c.blocker OPERATOR(pg_catalog.=) %s"
" OR c.blocker OPERATOR(pg_catalog.=) ANY ('{%s}'::pg_catalog.int4[])"
" AND a.state OPERATOR(pg_catalog.=) 'idle in transaction'";

char *
backend_query_deadlock(const char *backends, const char *leader)
{
	return psprintf(deadlock_query, backends, leader, backends);
}

/*
 * session_settings.c
 *		Changes the settings of a session to those that a dump needs.
 *
 * The output of COPY and of the catalog functions depends on settings, which
 * a role or a database may have changed.  So all our sessions set them
 * explicitly.
 */
#include "base/fe_compat.h"

#include "common/connect.h"
#include "fe_utils/string_utils.h"
#include "mb/pg_wchar.h"

#include "base/buffer.h"
#include "base/interrupt.h"
#include "session/connection.h"
#include "session/session_lost.h"
#include "session/session_settings.h"

/*
 * These are the settings that pg_dump makes in every session: the output
 * formats, no timeout, and rows in the order in which they are stored.  In
 * addition, gin_fuzzy_search_limit = 0 makes conditions (--where) find all
 * their rows, and no constraint is examined, because that could call
 * functions.
 *
 * Every server has these settings, and values are wrong without some of them.
 */
static const char settings_query[] =
SESSION_SET("search_path", "") "; "
SESSION_SET("statement_timeout", "0") "; "
SESSION_SET("DateStyle", "ISO") "; "
SESSION_SET("IntervalStyle", "postgres") "; "
SESSION_SET("synchronize_seqscans", "off") "; "
SESSION_SET("constraint_exclusion", "off") "; "
SESSION_SET("gin_fuzzy_search_limit", "0");

/*
 * These settings may be missing on older servers.  Timeouts must not end a
 * session that waits.  A backend whose client cannot be reached ends, and
 * gives up its locks, when its client gives it up (connection.c).  JIT is off
 * because each session would compile a plan with a high cost again, which
 * takes longer than reading a table with many columns.  TID scans are on
 * because otherwise SQL would scan the whole table for each chunk.
 * tcp_user_timeout is not set, because it would also end a session whose
 * client reads slowly.
 */
static const char known_settings_query[] =
SESSION_KNOWN_SETTINGS("lock_timeout=0,"
					   "idle_in_transaction_session_timeout=0,"
					   "idle_session_timeout=0,"
					   "transaction_timeout=0,"
					   "tcp_keepalives_idle=" CppAsString2(KEEPALIVE_IDLE_S) ","
					   "tcp_keepalives_interval=" CppAsString2(KEEPALIVE_INTERVAL_S) ","
					   "tcp_keepalives_count=" CppAsString2(KEEPALIVE_COUNT) ","
					   "jit=off,"
					   "enable_tidscan=on,"
					   "\"restrict_nonsystem_relation_kind=view, foreign-table\"");

/*
 * Lets a backend notice soon that its client is gone, while the backend waits
 * or computes (PostgreSQL 14 or newer).  Not every platform supports this, so
 * the statement may fail; the session works without it.
 */
static const char connection_check_query[] =
SESSION_SAVEPOINT "; " SESSION_KNOWN_SETTINGS("client_connection_check_interval=1s");

/* PQsetClientEncoding() does the same, but its wait is not watched. */
void
session_set_encoding(PGconn *conn, const char *encoding)
{
	bool		begun = session_begin_settings(conn);
	PQExpBufferData sql = buffer_new();
	PGresult   *res;

	if (strcmp(encoding, "auto") == 0)
		encoding = pg_encoding_to_char(pg_get_encoding_from_locale(NULL, true));
	session_append_set(&sql, conn, "client_encoding", encoding, false);
	res = session_exec(conn, sql.data);
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
	{
		interrupt_check();
		if (session_is_lost(conn, res))
			session_failed(conn, res, "could not set client encoding", encoding);
		pg_fatal("invalid client encoding \"%s\" specified", encoding);
	}
	PQclear(res);
	session_end_settings(conn, begun);

	/*
	 * fmtId() must know which bytes belong to one character, because in some
	 * encodings the second byte can equal a backslash or a quote.
	 */
	setFmtEncoding(PQclientEncoding(conn));
}

/* Older servers do not have all of these settings. */
static const char timeouts_query[] =
"SELECT pg_catalog.set_config(s.name, '0', false) FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) ANY (ARRAY['lock_timeout',"
" 'idle_in_transaction_session_timeout', 'idle_session_timeout',"
" 'transaction_timeout']::pg_catalog.text[])";

void
session_end_timeouts(PGconn *conn)
{
	bool		begun = session_begin_settings(conn);

	/*
	 * This is a statement of its own, because the current timeout may be too
	 * short for the others.
	 */
	session_command(conn, "SET statement_timeout = 0");
	/* The next query could time out, so it comes second. */
	PQclear(session_query(conn, timeouts_query));
	session_end_settings(conn, begun);
}

/* Make all settings except the one that may fail, in one round trip. */
static void
make_settings(PGconn *conn, const Options *options)
{
	PQExpBufferData sql = buffer_new();

	appendPQExpBufferStr(&sql, settings_query);
	session_append_set(&sql, conn, "extra_float_digits",
					   options->extra_float_digits ? options->extra_float_digits : "3",
					   false);
	session_append_set(&sql, conn, "quote_all_identifiers",
					   options->quote_all_identifiers ? "on" : "off", false);
	session_append_set(&sql, conn, "row_security",
					   options->enable_row_security ? "on" : "off", false);
	appendPQExpBuffer(&sql, "; %s", known_settings_query);
	PQclear(session_query(conn, sql.data));
}

void
session_set_up(PGconn *conn, const Options *options, const char *encoding)
{
	/*
	 * All settings are made in one transaction that has found the session's
	 * marker.  So behind a pooler, either the backend with the marker gets
	 * them, or no backend.
	 */
	bool		begun = session_begin_settings(conn);
	PGresult   *res;

	if (encoding)
		session_set_encoding(conn, encoding);
	else
		setFmtEncoding(PQclientEncoding(conn));

	if (options->role)
		session_command(conn, psprintf("SET ROLE %s", fmtId(options->role)));

	make_settings(conn, options);

	/*
	 * This may fail on some platforms, which is ignored unless the session is
	 * lost.
	 */
	res = session_exec(conn, connection_check_query);
	if (session_refused(conn, res, connection_check_query))
		session_command(conn, SESSION_ROLLBACK_TO);
	PQclear(res);
	session_end_settings(conn, begun);
}

/*
 * session_settings.c
 *		Brings sessions in the state that a dump needs.
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
 * What pg_dump sets; that a condition finds all its rows; every timeout, and
 * how soon a backend whose client is out of reach is to end, and give up its
 * locks: when its client gives it up (connection.c).  No JIT: a plan that
 * looks dear would be compiled again in every session, which for a table of
 * many columns takes longer than to read it.  TID scans, without which each
 * chunk that is read by SQL would be a scan of its whole table.  No
 * constraint is to be looked at, which might call functions.
 *
 * Every server has these, and values are wrong without some of them.
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
 * A server may not know these.  No tcp_user_timeout, which would also end a
 * session whose client is slow to read.
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
 * Lets a backend see soon that its client is gone while it waits or computes
 * (14 on).  Not every platform of a server can, and it is a comfort only.
 */
static const char connection_check_query[] =
SESSION_SAVEPOINT "; " SESSION_KNOWN_SETTINGS("client_connection_check_interval=1s");

/* As PQsetClientEncoding(), whose wait would not be watched. */
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
	 * fmtId() must know which bytes belong together, as a backslash or quote
	 * may be the second byte of a character in some encodings.
	 */
	setFmtEncoding(PQclientEncoding(conn));
}

/* Servers have not had all of them always. */
static const char timeouts_query[] =
"SELECT pg_catalog.set_config(s.name, '0', false) FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) ANY (ARRAY['lock_timeout',"
" 'idle_in_transaction_session_timeout', 'idle_session_timeout',"
" 'transaction_timeout']::pg_catalog.text[])";

void
session_end_timeouts(PGconn *conn)
{
	bool		begun = session_begin_settings(conn);

	/* alone: it may be too short even for what follows */
	session_command(conn, "SET statement_timeout = 0");
	/* the others can be asked for only once nothing can time out */
	PQclear(session_query(conn, timeouts_query));
	session_end_settings(conn, begun);
}

/* All but what may fail, in one round trip. */
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
	 * marker: behind a pooler they are made in the backend that has the
	 * marker, or not at all.
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
	/* It may fail, but not because the session is lost. */
	res = session_exec(conn, connection_check_query);
	if (session_refused(conn, res, connection_check_query))
		session_command(conn, SESSION_ROLLBACK_TO);
	PQclear(res);
	session_end_settings(conn, begun);
}

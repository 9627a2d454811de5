/*
 * session_settings.c
 *		Brings sessions in the state that a dump needs.
 */
#include "base/fe_compat.h"

#include "common/connect.h"
#include "fe_utils/string_utils.h"
#include "mb/pg_wchar.h"

#include "base/interrupt.h"
#include "session/session.h"
#include "session/session_loss.h"
#include "session/session_settings.h"
#include "session/tcp_setting.h"

/*
 * What pg_dump sets; that a condition finds all its rows; every timeout, and
 * how soon a backend whose client is out of reach is to end, and give up its
 * locks: when its client gives it up (tcp_setting.c).  No tcp_user_timeout,
 * which would also end one whose client is slow to read.  No JIT: a plan that
 * looks dear would be compiled anew in every session, which for a table of
 * many columns takes longer than to read it.  TID scans, without which each
 * chunk that is read by SQL would be a scan of its whole table.  No
 * constraint is to be looked at, which might call functions.
 *
 * One statement.  Every server has the first ones, and values are wrong
 * without them, so that a name that it does not know is an error.  The
 * others, which it may not know, are set if they are in its pg_settings, in
 * this very spelling.
 */
static const char settings_query[] =
"SELECT pg_catalog.set_config(v.name, v.setting, false)"
" FROM (VALUES"
" ('search_path', '', true),"
" ('DateStyle', 'ISO', true),"
" ('IntervalStyle', 'postgres', true),"
" ('extra_float_digits', $1, true),"
" ('synchronize_seqscans', 'off', true),"
" ('quote_all_identifiers', $2, true),"
" ('constraint_exclusion', 'off', true),"
" ('gin_fuzzy_search_limit', '0', true),"
" ('lock_timeout', '0', false),"
" ('idle_in_transaction_session_timeout', '0', false),"
" ('idle_session_timeout', '0', false),"
" ('transaction_timeout', '0', false),"
" ('tcp_keepalives_idle', '" CppAsString2(KEEPALIVE_IDLE_S) "', false),"
" ('tcp_keepalives_interval', '" CppAsString2(KEEPALIVE_INTERVAL_S) "', false),"
" ('tcp_keepalives_count', '" CppAsString2(KEEPALIVE_COUNT) "', false),"
" ('row_security', $3, false),"
" ('jit', 'off', false),"
" ('enable_tidscan', 'on', false),"
" ('restrict_nonsystem_relation_kind', 'view, foreign-table', false)"
") v (name, setting, always)"
" WHERE v.always OR EXISTS (SELECT FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) v.name)";

/*
 * Lets a backend see soon that its client is gone while it waits or computes
 * (14 on).  Not every platform of a server can, and it is a comfort only.
 */
static const char connection_check_query[] =
"SAVEPOINT connection_check; SELECT pg_catalog.set_config(name, '1s', false)"
" FROM pg_catalog.pg_settings"
" WHERE name OPERATOR(pg_catalog.=) 'client_connection_check_interval'";

/* As PQsetClientEncoding(), whose wait would not be watched. */
void
session_set_encoding(PGconn *conn, const char *encoding)
{
	bool		begun = session_begin_settings(conn);
	char	   *literal;
	char	   *sql;
	PGresult   *res;

	if (strcmp(encoding, "auto") == 0)
		encoding = pg_encoding_to_char(pg_get_encoding_from_locale(NULL, true));
	literal = PQescapeLiteral(conn, encoding, strlen(encoding));
	sql = psprintf("SET client_encoding TO %s", literal);
	res = session_exec(conn, sql);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
	{
		interrupt_check();
		if (session_is_lost(conn, res))
			session_failed(conn, res, "could not set client encoding", encoding);
		pg_fatal("invalid client encoding \"%s\" specified", encoding);
	}
	PQclear(res);
	session_end_settings(conn, begun);
	setFmtEncoding(PQclientEncoding(conn));
	free(sql);
	PQfreemem(literal);
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
	PQclear(session_query(conn, timeouts_query));
	session_end_settings(conn, begun);
}

/* It may fail, but not because the session is lost. */
static void
set_connection_check(PGconn *conn)
{
	PGresult   *res = session_exec(conn, connection_check_query);

	if (session_is_lost(conn, res))
		session_failed(conn, res, "query failed", connection_check_query);
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		session_command(conn, "ROLLBACK TO SAVEPOINT connection_check");
	PQclear(res);
}

void
session_set_up(PGconn *conn, const Options *options, const char *encoding)
{
	const char *params[3];
	bool		begun = session_begin_settings(conn);

	PQclear(session_query(conn, ALWAYS_SECURE_SEARCH_PATH_SQL));
	if (encoding)
		session_set_encoding(conn, encoding);
	else
		setFmtEncoding(PQclientEncoding(conn));

	if (options->role)
	{
		PQExpBufferData sql;

		initPQExpBuffer(&sql);
		appendPQExpBuffer(&sql, "SET ROLE %s", fmtId(options->role));
		session_command(conn, sql.data);
		termPQExpBuffer(&sql);
	}

	/* alone: it may be too short even for what follows */
	session_command(conn, "SET statement_timeout = 0");
	params[0] = options->extra_float_digits ? options->extra_float_digits : "3";
	params[1] = options->quote_all_identifiers ? "on" : "off";
	params[2] = options->enable_row_security ? "on" : "off";
	PQclear(session_query_params(conn, settings_query, 3, params, 0));
	set_connection_check(conn);
	session_end_settings(conn, begun);
}

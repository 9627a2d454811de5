/*
 * session.c
 *		Brings sessions in the state that a dump needs, and runs statements.
 */
#include "base/fe_compat.h"

#include "common/connect.h"
#include "fe_utils/string_utils.h"
#include "mb/pg_wchar.h"

#include "base/interrupt.h"
#include "process/worker_pool.h"
#include "session/session.h"
#include "session/session_wait.h"
#include "session/traffic.h"

/* ----------
 * Statements
 * ----------
 */

/*
 * Errors that end a session or its transaction and say nothing about what it
 * was doing: class 08 (connection exception), 57P01 admin_shutdown, 57P02
 * crash_shutdown, 57P03 cannot_connect_now, 40P01 deadlock_detected (with
 * REINDEX, of a table's and its TOAST's indexes).  Others would end the next
 * one too.
 */
static bool
is_lost_sqlstate(const char *sqlstate)
{
	return strncmp(sqlstate, "08", 2) == 0 ||
		strcmp(sqlstate, "57P01") == 0 ||
		strcmp(sqlstate, "57P02") == 0 ||
		strcmp(sqlstate, "40P01") == 0 ||
		strcmp(sqlstate, "57P03") == 0;
}

bool
session_is_standby(const PGconn *conn)
{
	const char *standby = PQparameterStatus(conn, "in_hot_standby");

	return standby && strcmp(standby, "on") == 0;
}

/*
 * 40001 serialization_failure is all that a standby's replay raises
 * (postgres.c:ProcessInterrupts), and on a standby nobody else does.
 */
static bool
is_recovery_conflict(const PGconn *conn, const PGresult *res)
{
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	return session_is_standby(conn) && sqlstate && strcmp(sqlstate, "40001") == 0;
}

/*
 * What helps depends on what replay needed, of which only the detail tells
 * (postgres.c:errdetail_recovery_conflict), in the server's language.
 */
static const char *
conflict_hint(const char *detail)
{
	if (strcmp(detail, "User was holding a relation lock for too long.") == 0)
		return "For the run, set max_standby_streaming_delay and max_standby_archive_delay to -1 on the standby; or vacuum_truncate to off on the primary, if it was VACUUM that took the lock.";
	if (strcmp(detail, "User query might have needed to see row versions that must be removed.") == 0)
		return "Set hot_standby_feedback to on on the standby, or, for the run, max_standby_streaming_delay and max_standby_archive_delay to -1.";
	return "For the run, set max_standby_streaming_delay and max_standby_archive_delay to -1 on the standby: replay then waits for queries.";
}

/*
 * Without the server's own hint, which is to connect again.
 */
char *
session_error_words(const PGconn *conn, const PGresult *res)
{
	const char *detail = PQresultErrorField(res, PG_DIAG_MESSAGE_DETAIL);

	if (!is_recovery_conflict(conn, res))
		return pg_strdup(PQresultErrorField(res, PG_DIAG_SQLSTATE) ?
						 PQresultErrorMessage(res) : PQerrorMessage(conn));
	if (detail == NULL)
		detail = "";
	return psprintf("%s:  %s\nDETAIL:  %s\nHINT:  %s\n",
					PQresultErrorField(res, PG_DIAG_SEVERITY),
					PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY), detail,
					conflict_hint(detail));
}

bool
session_is_lost(const PGconn *conn, const PGresult *res)
{
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	if (sqlstate)
		return is_lost_sqlstate(sqlstate) || is_recovery_conflict(conn, res);
	/* no word from the server: what libpq noticed by itself */
	return PQstatus(conn) != CONNECTION_OK;
}

void
session_failed(PGconn *conn, const PGresult *res, const char *problem,
			   const char *sql)
{
	interrupt_check();
	if (session_is_lost(conn, res))
		worker_pool_lost(psprintf("%s: %s", problem,
								  session_error_words(conn, res)));
	message_set_sqlstate(PQresultErrorField(res, PG_DIAG_SQLSTATE));
	pg_log_error("%s: %s", problem, PQerrorMessage(conn));
	pg_log_error_detail("Command was: %s", sql);
	exit(1);
}

const char	session_backend_query[] = "SELECT pg_catalog.pg_backend_pid()";

PGresult *
session_exec(PGconn *conn, const char *sql)
{
	PGresult   *res;

	traffic_wait_begins();
	res = PQsendQuery(conn, sql) ? session_wait_result(conn, -1) : NULL;
	traffic_wait_ends();
	return res;
}

PGresult *
session_exec_within(PGconn *conn, const char *sql, int wait_ms)
{
	return PQsendQuery(conn, sql) ? session_wait_result(conn, wait_ms) : NULL;
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

	traffic_wait_begins();
	res = PQsendQueryParams(conn, sql, n_params, NULL, params, NULL, NULL,
							result_format) ? session_wait_result(conn, -1) : NULL;
	traffic_wait_ends();

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		session_failed(conn, res, "query failed", sql);
	return res;
}

void
session_command(PGconn *conn, const char *sql)
{
	PGresult   *res = session_exec(conn, sql);

	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		session_failed(conn, res, "query failed", sql);
	PQclear(res);
}

/* ----------
 * Settings
 * ----------
 */

/*
 * What pg_dump sets; that a condition finds all its rows; every timeout, and
 * how soon a backend whose client is out of reach is to end, and give up its
 * locks: when connection.c gives it up.  No tcp_user_timeout, which would
 * also end one whose client is slow to read.  No JIT: a plan that looks dear
 * would be compiled anew in every session, which for a table of many columns
 * takes longer than to read it.  No constraint is to be looked at, which
 * might call functions.
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
" ('tcp_keepalives_idle', '30', false),"
" ('tcp_keepalives_interval', '10', false),"
" ('tcp_keepalives_count', '6', false),"
" ('row_security', $3, false),"
" ('jit', 'off', false),"
" ('restrict_nonsystem_relation_kind', 'view, foreign-table', false)"
") v (name, setting, always)"
" WHERE v.always OR EXISTS (SELECT FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) v.name)";

/*
 * Lets a backend see soon that its client is gone while it waits or computes
 * (14 on).  Not every platform of a server can, and it is a comfort only.
 */
static const char connection_check_query[] =
"SELECT pg_catalog.set_config(name, '1s', false)"
" FROM pg_catalog.pg_settings"
" WHERE name OPERATOR(pg_catalog.=) 'client_connection_check_interval'";

/* As PQsetClientEncoding(), whose wait would not be watched. */
void
session_set_encoding(PGconn *conn, const char *encoding)
{
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
	free(sql);
	PQfreemem(literal);
}

void
session_set_up(PGconn *conn, const Options *options, const char *encoding)
{
	const char *params[3];
	PGresult   *res;

	PQclear(session_query(conn, ALWAYS_SECURE_SEARCH_PATH_SQL));
	if (encoding)
		session_set_encoding(conn, encoding);
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
	/* this may fail, but not because the session is lost */
	res = session_exec(conn, connection_check_query);
	if (session_is_lost(conn, res))
		session_failed(conn, res, "query failed", connection_check_query);
	PQclear(res);
}

/* ----------
 * Transactions and snapshots
 * ----------
 */
static const char begin_repeatable_read[] =
"BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/*
 * 22023 invalid_parameter_value (42704 undefined_object from 17 on), 55000
 * object_not_in_prerequisite_state: there is no such export (any more),
 * snapmgr.c:ImportSnapshot, procarray.c:ProcArrayInstallImportedXmin.
 */
static bool
exporter_is_gone(const PGresult *res)
{
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	return sqlstate && (strcmp(sqlstate, "22023") == 0 ||
						strcmp(sqlstate, "42704") == 0 ||
						strcmp(sqlstate, "55000") == 0);
}

/* NULL if imported, else the result with the error; *sql is owned. */
static PGresult *
import_snapshot(PGconn *conn, const char *snapshot, char **sql)
{
	PQExpBufferData buf;
	PGresult   *res;

	initPQExpBuffer(&buf);
	appendPQExpBufferStr(&buf, "SET TRANSACTION SNAPSHOT ");
	appendStringLiteralConn(&buf, snapshot, conn);
	*sql = buf.data;
	res = session_exec(conn, buf.data);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		return res;
	PQclear(res);
	return NULL;
}

char *
session_export_snapshot(PGconn *conn)
{
	PGresult   *res = session_query(conn, "SELECT pg_catalog.pg_export_snapshot()");
	char	   *snapshot = pg_strdup(PQgetvalue(res, 0, 0));

	PQclear(res);
	return snapshot;
}

char *
session_begin_leader(PGconn *conn, const Options *options, const char *import)
{
	/* an imported snapshot cannot be made safe any more; pg_dump has it so */
	if (options->serializable_deferrable && import == NULL)
		session_command(conn, "BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE");
	else
		session_command(conn, begin_repeatable_read);
	if (import)
	{
		char	   *sql;
		PGresult   *res = import_snapshot(conn, import, &sql);

		if (res)
			session_failed(conn, res, "query failed", sql);
		free(sql);
	}
	/* also an imported one: its first holder may leave before we are done */
	return session_export_snapshot(conn);
}

char *
session_snapshot_identity(PGconn *conn)
{
	PGresult   *res = session_query(conn,
									"SELECT pg_catalog.concat_ws(' ',"
									" pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()),"
									" pg_catalog.txid_current_snapshot())");
	char	   *identity = pg_strdup(PQgetvalue(res, 0, 0));

	PQclear(res);
	return identity;
}

static bool
has_identity(PGconn *conn, const char *identity)
{
	char	   *imported = session_snapshot_identity(conn);
	bool		result = strcmp(imported, identity) == 0;

	free(imported);
	return result;
}

bool
session_try_import(PGconn *conn, const char *snapshot, const char *identity)
{
	char	   *sql;
	PGresult   *res;

	session_command(conn, begin_repeatable_read);
	res = import_snapshot(conn, snapshot, &sql);
	if (res && !exporter_is_gone(res))
		session_failed(conn, res, "query failed", sql);
	free(sql);
	if (res == NULL && has_identity(conn, identity))
		return true;
	PQclear(res);
	session_command(conn, "ROLLBACK");
	return false;
}

void
session_begin_worker(PGconn *conn, const char *snapshot, const char *identity)
{
	if (!session_try_import(conn, snapshot, identity))
		worker_pool_lost("the session that exported the snapshot is gone");
}

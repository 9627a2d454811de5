/*
 * wal_history.c
 *		What a dump notes of the history that it is part of.
 */
#include "base/fe_compat.h"

#include "base/hex.h"
#include "base/interrupt.h"
#include "previous/wal_history.h"
#include "session/session.h"

/* Servers have summaries since 17. */
#define MIN_SERVER_FOR_SUMMARIES 170000

#define TOKEN_BYTES 16
#define WAIT_US 20000
#define MAX_WAITS 250			/* 5 s */

/* Functions that may have been revoked are not called here. */
static const char may_query[] =
"SELECT pg_catalog.pg_is_in_recovery(),"
" pg_catalog.current_setting('summarize_wal') OPERATOR(pg_catalog.=) 'on'::pg_catalog.text,"
" pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('pg_catalog.pg_current_wal_insert_lsn()'), 'EXECUTE')"
" AND pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('pg_catalog.pg_walfile_name(pg_catalog.pg_lsn)'), 'EXECUTE')";

static const char lsn_query[] =
"SELECT pg_catalog.pg_current_wal_insert_lsn()";

/*
 * Assigns it, and with that it is over.  A snapshot's xmax would not do: it
 * is behind the last transaction that has ended, not the last that has begun.
 */
static const char xid_query[] =
"SELECT pg_catalog.pg_current_xact_id()";

static const char bounds_query[] =
"SELECT pg_catalog.pg_snapshot_xmin(s.s), pg_catalog.pg_snapshot_xmax(s.s)"
" FROM pg_catalog.pg_current_snapshot() s (s)";

static const char place_query[] =
"SELECT d.oid, pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8),"
" (pg_catalog.date_part('epoch'::pg_catalog.text, pg_catalog.pg_postmaster_start_time())"
" OPERATOR(pg_catalog.*) 1000000::pg_catalog.float8)::pg_catalog.int8"
" FROM pg_catalog.pg_database d WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

static const char *
why_not(PGconn *conn)
{
	const char *problem = NULL;
	PGresult   *res;

	if (PQserverVersion(conn) < MIN_SERVER_FOR_SUMMARIES)
		return "the server is older than 17";
	res = session_query(conn, may_query);
	if (PQgetvalue(res, 0, 0)[0] == 't')
		problem = "the server is a standby";
	else if (PQgetvalue(res, 0, 1)[0] != 't')
		problem = "summarize_wal is off";
	else if (PQgetvalue(res, 0, 2)[0] != 't')
		problem = "no permission to ask for positions in the write-ahead log";
	PQclear(res);
	return problem;
}

static void
read_bounds(PGconn *conn, uint64 *xmin, uint64 *xmax)
{
	PGresult   *res = session_query(conn, bounds_query);

	*xmin = strtoull(PQgetvalue(res, 0, 0), NULL, 10);
	*xmax = strtoull(PQgetvalue(res, 0, 1), NULL, 10);
	PQclear(res);
}

WalHistory *
wal_history_begin(PGconn *conn)
{
	WalHistory *history = pg_malloc0(sizeof(WalHistory));
	PGresult   *res;
	uint64		xmin;
	uint64		xmax;

	history->problem = why_not(conn);
	if (history->problem)
		return history;
	history->token = hex_random(TOKEN_BYTES);
	/* first: all that gets a higher ID is logged behind it */
	res = session_query(conn, lsn_query);
	history->lsn = pg_strdup(PQgetvalue(res, 0, 0));
	PQclear(res);
	res = session_query(conn, xid_query);
	history->xid = strtoull(PQgetvalue(res, 0, 0), NULL, 10);
	PQclear(res);
	read_bounds(conn, &xmin, &xmax);
	for (int i = 0; i < MAX_WAITS && xmin <= history->xid; i++)
	{
		interrupt_check();
		pg_usleep(WAIT_US);
		read_bounds(conn, &xmin, &xmax);
	}
	return history;
}

void
wal_history_snapshot_taken(PGconn *conn, WalHistory *history)
{
	PGresult   *res;
	uint64		xmax;

	if (history->problem)
		return;
	read_bounds(conn, &history->xmin, &xmax);
	history->xmax = psprintf(UINT64_FORMAT, xmax);
	res = session_query(conn, place_query);
	history->database = pg_strdup(PQgetvalue(res, 0, 0));
	history->timeline = pg_strdup(PQgetvalue(res, 0, 1));
	history->server_start = pg_strdup(PQgetvalue(res, 0, 2));
	PQclear(res);
}

const char *
wal_history_note(PGconn *conn, const WalHistory *history)
{
	char	   *sql = psprintf("SELECT " PARDUMP_NOTE_DUMP "('%s'::pg_catalog.text)",
							   history->token);
	PGresult   *res = session_exec(conn, sql);
	const char *problem = NULL;

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		problem = pg_strdup(PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY) ?
							PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY) :
							"the connection was lost");
	PQclear(res);
	free(sql);
	return problem;
}

/*
 * dump_origin.c
 *		Asks the server what it is, and where its log is.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "plan/dump_origin.h"

/*
 * Not up to where the log is written: with synchronous_commit = off a commit
 * is seen before.
 */
#define LSN_SQL \
"CASE WHEN pg_catalog.pg_is_in_recovery()" \
" THEN pg_catalog.pg_last_wal_replay_lsn()" \
" ELSE pg_catalog.pg_current_wal_insert_lsn() END"

/* Owned; NULL if it is NULL. */
static char *
value(const PGresult *res, int column)
{
	return PQgetisnull(res, 0, column) ? NULL :
		pg_strdup(PQgetvalue(res, 0, column));
}

DumpOrigin *
dump_origin_read(PGconn *conn, bool has_lsn, bool has_identifier)
{
	DumpOrigin *origin = pg_malloc0(sizeof(DumpOrigin));
	char	   *sql = psprintf("SELECT %s, %s, d.oid, " LAYOUT_SQL " FROM pg_catalog.pg_database d"
							   " WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()",
							   has_lsn ? LSN_SQL : "NULL",
							   has_identifier ? SYSTEM_IDENTIFIER_SQL : "NULL");
	PGresult   *res = session_query(conn, sql);

	origin->start_us = run_clock_start_us();
	origin->server_version = pg_strdup(PQparameterStatus(conn, "server_version"));
	origin->database = pg_strdup(PQdb(conn));
	origin->lsn = value(res, 0);
	origin->system_identifier = value(res, 1);
	origin->database_oid = (Oid) strtoul(PQgetvalue(res, 0, 2), NULL, 10);
	origin->layout = value(res, 3);
	origin->has_lz4 = PQgetvalue(res, 0, 4)[0] == 't';
	PQclear(res);
	free(sql);
	return origin;
}

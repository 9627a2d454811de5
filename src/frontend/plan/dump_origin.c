/*
 * dump_origin.c
 *		Asks the server what it is, and where its log is.
 */
#include "base/fe_compat.h"

#include "base/run_clock.h"
#include "plan/dump_origin.h"

/*
 * Functions that a hosting service may have revoked, or that an old server
 * has not got (9.6 those of the log): to call one without privilege, even in
 * a branch not taken, would end the transaction.
 */
static const char may_query[] =
"SELECT pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('pg_catalog.pg_control_system()'), 'EXECUTE'),"
" pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('pg_catalog.pg_current_wal_insert_lsn()'), 'EXECUTE')"
" AND pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('pg_catalog.pg_last_wal_replay_lsn()'), 'EXECUTE')";

static const char identifier_query[] =
"SELECT system_identifier FROM pg_catalog.pg_control_system()";

/*
 * Not up to where the log is written: with synchronous_commit = off a commit
 * is seen before.
 */
static const char lsn_query[] =
"SELECT CASE WHEN pg_catalog.pg_is_in_recovery()"
" THEN pg_catalog.pg_last_wal_replay_lsn()"
" ELSE pg_catalog.pg_current_wal_insert_lsn() END";

static char *
one_value(PGconn *conn, const char *sql)
{
	PGresult   *res = session_query(conn, sql);
	char	   *value = NULL;

	if (PQntuples(res) == 1 && !PQgetisnull(res, 0, 0))
		value = pg_strdup(PQgetvalue(res, 0, 0));
	PQclear(res);
	return value;
}

DumpOrigin *
dump_origin_read(PGconn *conn, const Options *options)
{
	DumpOrigin *origin = pg_malloc0(sizeof(DumpOrigin));
	PGresult   *res = session_query(conn, may_query);

	origin->start_us = run_clock_start_us();
	origin->server_version = one_value(conn, "SELECT pg_catalog.current_setting('server_version')");
	origin->database = pg_strdup(PQdb(conn));
	/* whoever gave the snapshot knows where the log was then */
	if (PQgetvalue(res, 0, 1)[0] == 't' && options->snapshot == NULL)
		origin->lsn = one_value(conn, lsn_query);
	if (PQgetvalue(res, 0, 0)[0] == 't')
		origin->system_identifier = one_value(conn, identifier_query);
	PQclear(res);
	return origin;
}

/*
 * server_check.c
 *		Looks, before a run does anything, at what would make it fail or harm.
 */
#include "base/fe_compat.h"

#include "base/units.h"
#include "session/connection.h"
#include "source/server_check.h"

/*
 * What may be wrong with a server, each NULL if it is not.
 *
 * The age: autovacuum keeps it about at autovacuum_freeze_max_age; twice
 * that, or half of what there is, means that something keeps it from its
 * work.
 *
 * The threshold (until 16): a server notices what was removed since a
 * snapshot was imported, not since it was taken (snapmgr.c:
 * SetTransactionSnapshot).  A standby never removes by its own threshold, and
 * waits or cancels for its primary's.
 *
 * The delays, on a standby: which setting of those that replay goes by is
 * finite.  What comes from an archive has one of its own.
 */
#define WRONGS_SQL \
"SELECT CASE WHEN pg_catalog.age(d.datfrozenxid) OPERATOR(pg_catalog.>) LEAST(1000000000," \
" 2 OPERATOR(pg_catalog.*) pg_catalog.current_setting('autovacuum_freeze_max_age')::pg_catalog.int8)" \
" THEN pg_catalog.age(d.datfrozenxid) END," \
" pg_catalog.current_setting('autovacuum_freeze_max_age')," \
" (SELECT pg_catalog.current_setting(s.name) FROM pg_catalog.pg_settings s" \
" WHERE s.name OPERATOR(pg_catalog.=) 'old_snapshot_threshold'" \
" AND s.setting OPERATOR(pg_catalog.<>) '-1' AND NOT pg_catalog.pg_is_in_recovery())," \
" (SELECT pg_catalog.string_agg(s.name OPERATOR(pg_catalog.||) ' = '" \
" OPERATOR(pg_catalog.||) pg_catalog.current_setting(s.name), ' and ' ORDER BY s.name DESC)" \
" FROM pg_catalog.pg_settings s" \
" WHERE pg_catalog.pg_is_in_recovery() AND s.setting OPERATOR(pg_catalog.<>) '-1'" \
" AND (s.name OPERATOR(pg_catalog.=) 'max_standby_streaming_delay'" \
" OR s.name OPERATOR(pg_catalog.=) 'max_standby_archive_delay'" \
" AND EXISTS (SELECT FROM pg_catalog.pg_settings r" \
" WHERE r.name OPERATOR(pg_catalog.=) 'restore_command'" \
" AND r.setting OPERATOR(pg_catalog.<>) '')))"

/*
 * Functions that a hosting service may have revoked, or that an old server
 * has not got (9.6 those of the log).  The age is asked by the user who
 * connected, whatever the role (session_look()).
 */
#define RIGHTS_SQL \
"(" SESSION_MAY_EXECUTE("pg_catalog.pg_current_wal_insert_lsn();" \
						"pg_catalog.pg_last_wal_replay_lsn()") ")," \
" (" SESSION_MAY_EXECUTE("pg_catalog.pg_control_system()") ")," \
" pg_catalog.has_function_privilege(session_user," \
" pg_catalog.to_regprocedure('pg_catalog.pg_control_checkpoint()'), 'EXECUTE')"

/* With the connections that are left. */
static const char look_query[] =
WRONGS_SQL ", " RIGHTS_SQL ", %s"
" FROM pg_catalog.pg_database d"
" WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

enum
{
	WRONG_AGE,
	FREEZE_MAX_AGE,
	WRONG_THRESHOLD,
	WRONG_DELAYS,
	MAY_ASK_LSN,
	MAY_ASK_IDENTIFIER,
	MAY_ASK_AGE,
	CONNECTIONS_LEFT
};

static const char database_query[] =
"SELECT d.oid FROM pg_catalog.pg_database d"
" WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

/* Of the database that is meant; none if any of the name is. */
static Oid	expected_database = InvalidOid;

/* How messages call the server; owned. */
static char *
server_words(const char *name)
{
	return name ? psprintf("standby %s", name) : pg_strdup("the server");
}

static void
check_connections(const PGresult *res, const char *name, int n_workers)
{
	char	   *server = server_words(name);
	ConnectionsLeft connections = connection_limit_read(res, CONNECTIONS_LEFT);
	int			left = connections.at_most;

	if (left >= n_workers && connections.at_least < n_workers)
	{
		left = connections.at_least;
		pg_log_warning("%s may have only %d connection%s left for %d job%s",
					   server, left, units_plural(left), n_workers, units_plural(n_workers));
		pg_log_warning_detail("%s", CONNECTIONS_HIDDEN_DETAIL);
		return;
	}
	if (left > n_workers)
		return;
	if (left == n_workers)
	{
		pg_log_warning("%s has only %d connection%s left for %d job%s",
					   server, left, units_plural(left), n_workers, units_plural(n_workers));
		pg_log_warning_detail("If the leader loses its session, it needs one more than it had to take another.");
		return;
	}
	pg_log_error("%s has %d connection%s left, too few for %d job%s",
				 server, left, units_plural(left), n_workers, units_plural(n_workers));
	if (left > 0)
		pg_log_error_hint("Use --jobs=%d, or raise max_connections or the limit of the role or database.",
						  Max(left - 1, 1));
	else
		pg_log_error_hint("End other sessions, or raise max_connections or the limit of the role or database.");
}

static void
check_age(const PGresult *res)
{
	if (PQgetisnull(res, 0, WRONG_AGE))
		return;
	pg_log_warning("the oldest transaction ID in the database is %s transactions old",
				   PQgetvalue(res, 0, WRONG_AGE));
	pg_log_warning_detail("autovacuum_freeze_max_age is %s.  A dump keeps vacuum from removing what its snapshot sees, for as long as it runs.",
						  PQgetvalue(res, 0, FREEZE_MAX_AGE));
}

static void
check_threshold(const PGresult *res)
{
	if (PQgetisnull(res, 0, WRONG_THRESHOLD))
		return;
	pg_log_error("the server may remove rows that the dump's snapshot sees, by old_snapshot_threshold = %s",
				 PQgetvalue(res, 0, WRONG_THRESHOLD));
	pg_log_error_detail("It would not notice for sessions that import the snapshot later.");
	pg_log_error_hint("Set old_snapshot_threshold to -1 and restart the server, or use a standby, or pg_dump without --jobs.");
}

static void
check_delays(const PGresult *res, const char *name)
{
	if (PQgetisnull(res, 0, WRONG_DELAYS))
		return;
	if (name)
		pg_log_warning("replay on standby %s may end what is read there, by %s",
					   name, PQgetvalue(res, 0, WRONG_DELAYS));
	else
		pg_log_warning("replay on this standby may end the run, by %s",
					   PQgetvalue(res, 0, WRONG_DELAYS));
	pg_log_warning_detail("It waits no longer for rows that the snapshot sees, which hot_standby_feedback makes the primary keep, nor for locks on tables that are altered, dropped, or truncated by VACUUM there, which nothing but these settings helps.");
	pg_log_warning_hint("Set both max_standby_streaming_delay and max_standby_archive_delay to -1 on the standby for the run; vacuum_truncate = off, of a table on the primary, keeps VACUUM from truncating it.");
}

static bool
is_true(const PGresult *res, int column)
{
	return PQgetvalue(res, 0, column)[0] == 't';
}

ServerRights
server_check(PGconn *conn, const char *name, int n_workers)
{
	char	   *connections = connection_limit_expression(conn, true);
	char	   *sql = psprintf(look_query, connections);
	PGresult   *res = session_query(conn, sql);
	ServerRights rights = {false};

	/* none if the database has just got another name */
	if (PQntuples(res) == 1)
	{
		check_connections(res, name, n_workers);
		if (name == NULL)
		{
			check_age(res);
			check_threshold(res);
		}
		check_delays(res, name);
		rights.lsn = is_true(res, MAY_ASK_LSN);
		rights.system_identifier = is_true(res, MAY_ASK_IDENTIFIER);
		rights.age = is_true(res, MAY_ASK_AGE);
	}
	PQclear(res);
	free(sql);
	free(connections);
	return rights;
}

void
server_expect_database(Oid oid)
{
	expected_database = oid;
}

void
server_check_database(PGconn *conn)
{
	PGresult   *res;

	if (expected_database == InvalidOid)
		return;
	res = session_query(conn, database_query);
	if (PQntuples(res) != 1 ||
		(Oid) strtoul(PQgetvalue(res, 0, 0), NULL, 10) != expected_database)
	{
		pg_log_error("database \"%s\" is not the one that had this name when the run began",
					 PQdb(conn));
		pg_log_error_detail("Databases were renamed, or this one was dropped and made anew, meanwhile.");
	}
	PQclear(res);
}

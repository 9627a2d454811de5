/*
 * target_history.c
 *		Does the target have yet what was committed there?
 */
#include "base/fe_compat.h"

#include "base/message.h"
#include "plan/dump_origin.h"
#include "plan/dump_table.h"
#include "session/session.h"
#include "target/target_history.h"

void
target_history_make_durable(PGconn *conn)
{
	PQclear(session_query(conn,
						  "SELECT pg_catalog.pg_logical_emit_message(true, 'pg_pardump', 'copied')"));
}

/*
 * A promotion's timeline is noted in the one place first, and by the next
 * checkpoint in the other (xlog.c:CreateEndOfRecoveryRecord).
 */
#define HISTORY_SQL \
"(SELECT pg_catalog.concat_ws(' ', s.system_identifier," \
" GREATEST(c.timeline_id, r.min_recovery_end_timeline))" \
" FROM pg_catalog.pg_control_system() s, pg_catalog.pg_control_checkpoint() c," \
" pg_catalog.pg_control_recovery() r)"

TargetState
target_state(PGconn *conn)
{
	bool		may = session_may_execute(conn, "pg_catalog.pg_control_system();"
										  "pg_catalog.pg_control_checkpoint();"
										  "pg_catalog.pg_control_recovery()");
	bool		may_identify = may ||
		session_may_execute(conn, "pg_catalog.pg_control_system()");
	char	   *sql = psprintf("SELECT " TARGET_INCARNATION_SQL ", %s,"
							   " pg_catalog.current_setting('wal_level'), %s,"
							   " (SELECT d.oid FROM pg_catalog.pg_database d"
							   " WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()), "
							   LAYOUT_SQL,
							   may ? HISTORY_SQL : "NULL",
							   may_identify ? SYSTEM_IDENTIFIER_SQL : "NULL");
	PGresult   *res = session_query(conn, sql);
	TargetState state = {
		.incarnation = pg_strdup(PQgetvalue(res, 0, 0)),
		.history = pg_strdup(PQgetvalue(res, 0, 1)),
		.wal_level = pg_strdup(PQgetvalue(res, 0, 2)),
		.system_identifier = pg_strdup(PQgetvalue(res, 0, 3)),
		.database = (Oid) strtoul(PQgetvalue(res, 0, 4), NULL, 10),
		.layout = pg_strdup(PQgetvalue(res, 0, 5)),
		.has_lz4 = PQgetvalue(res, 0, 6)[0] == 't',
	};

	PQclear(res);
	free(sql);
	return state;
}

bool
target_history_was_restarted(PGconn *conn, const char *incarnation)
{
	return strcmp(target_state(conn).incarnation, incarnation) != 0;
}

void
target_history_tell(const TargetState *state)
{
	if (*state->history == '\0')
		pg_log_warning("the role may not execute pg_control_system(), pg_control_checkpoint() and pg_control_recovery() on the target: a failover of the target will not be noticed");
}

/* Another session may have other rights than the one that has read it. */
static void
expect(const TargetState *state, const char *expected)
{
	if (*expected == '\0')
		return;
	if (*state->history == '\0')
	{
		pg_log_error("it cannot be told whether the target is the server that it was");
		pg_log_error_detail("The session's role may not execute pg_control_system(), pg_control_checkpoint() and pg_control_recovery() there.");
		exit(1);
	}
	if (strcmp(state->history, expected) != 0)
	{
		pg_log_error("the target is another server now, after a failover or a restore, and may lack rows that were committed before");
		pg_log_error_hint("Copy again, into an empty database or with --clean.");
		exit(1);
	}
}

TargetState
target_history_expect(PGconn *conn, const char *expected)
{
	TargetState state = target_state(conn);

	expect(&state, expected);
	return state;
}

static const char unlogged_query[] =
"SELECT pg_catalog.string_agg(DISTINCT c.oid::pg_catalog.regclass::pg_catalog.text, ', ')"
" FROM pg_catalog.unnest($1::pg_catalog.text[]) t (name),"
" LATERAL " TABLE_OID_OF("t.name") " named (oid),"
" LATERAL (SELECT named.oid UNION ALL"
" SELECT p.relid FROM pg_catalog.pg_partition_tree(named.oid) p) r (oid)"
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) r.oid"
" WHERE c.relkind OPERATOR(pg_catalog.=) 'r' AND c.relpersistence OPERATOR(pg_catalog.=) 'u'";

/*
 * Those of the tables that are loaded, or of their partitions; NULL if there
 * are none.  Owned.
 */
static char *
list_unlogged(PGconn *conn, const DumpTables *tables)
{
	char	   *names = dump_tables_name_array(conn, tables, true);
	const char *params[] = {names};
	PGresult   *res = session_query_params(conn, unlogged_query, 1, params, 0);
	char	   *result = PQgetisnull(res, 0, 0) ? NULL
		: pg_strdup(PQgetvalue(res, 0, 0));

	PQclear(res);
	free(names);
	return result;
}

void
target_history_check_unlogged(PGconn *conn, const DumpTables *tables,
							  const char *incarnation)
{
	char	   *unlogged;

	if (!target_history_was_restarted(conn, incarnation))
		return;
	unlogged = list_unlogged(conn, tables);
	if (unlogged)
	{
		pg_log_error("the target was restarted, or its statistics were reset: its unlogged tables may have lost rows that were committed before");
		pg_log_error_detail("These are: %s.", printable(unlogged));
		pg_log_error_hint("Truncate them, copy them with --data-only, and run ANALYZE.");
		exit(1);
	}
}

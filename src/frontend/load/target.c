/*
 * target.c
 *		Opens the target, refuses unsuitable ones, and prepares its sessions.
 *
 * All sessions on the target have the same settings, which do not depend on
 * the role or the database: values that a user has set for an application
 * could change how values are read, or end long statements.
 *
 * A target can crash, be restarted, or fail over to a standby during a run.
 * Each session compares two texts with those from the beginning of the run:
 * the incarnation (to detect a restart) and the history (to detect another
 * server).  After a restart unlogged tables are empty; another server may
 * lack committed changes.
 */
#include "base/fe_compat.h"

#include <limits.h>

#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/message.h"
#include "base/shared_memory.h"
#include "base/units.h"
#include "load/target.h"
#include "session/session_lost.h"
#include "session/session_settings.h"

static const char load_command[] = "LOAD '$libdir/plugins/pg_pardump'";

#define COPY_SETTING "pg_pardump.fast_copy"
#define INDEX_SETTING "pg_pardump.fast_index"

#define OWN_BUILDS "building indexes with the target's own CREATE INDEX"

/*
 * Are the extension's files missing on the server?  Then LOAD would leave an
 * error in the server's log.  Returns false if the server cannot list its
 * extensions, for example because the control file of another one is damaged.
 */
static bool
library_is_missing(PGconn *conn)
{
	PGresult   *res = session_exec(conn,
								   "SELECT FROM pg_catalog.pg_available_extensions() e"
								   " WHERE e.name OPERATOR(pg_catalog.=) 'pg_pardump'");
	bool		missing = PQresultStatus(res) == PGRES_TUPLES_OK &&
		PQntuples(res) == 0;

	PQclear(res);
	return missing;
}

/*
 * Load the library.  Every role may LOAD a library in "plugins", so no
 * superuser is needed.  Returns the error, or NULL; owned.
 */
static char *
load_library(PGconn *conn)
{
	PGresult   *res = session_exec(conn, load_command);
	const char *message = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

	if (PQresultStatus(res) == PGRES_COMMAND_OK)
		return NULL;
	/* A message from libpq itself has no such field. */
	if (message == NULL || session_is_lost(conn, res))
		session_failed(conn, res, "query failed", load_command);
	return pg_strdup(message);
}

static char *
not_supported(const char *setting)
{
	return psprintf("the library on the target does not support %s", setting);
}

/*
 * Switch a setting on, unless the role, the database or the connection string
 * has set it: this is how a user can switch it off.
 */
static char *
switch_on(PGconn *conn, const char *setting)
{
	char	   *sql = psprintf(SESSION_KNOWN_SETTINGS("%s"), setting);
	PGresult   *res = session_query(conn, sql);
	char	   *reason = NULL;

	if (PQntuples(res) == 0)
		reason = not_supported(setting);
	else if (strcmp(PQgetvalue(res, 0, SETTING_SOURCE), "default") == 0)
		session_set(conn, setting, "on", false);
	else if (strcmp(PQgetvalue(res, 0, SETTING_VALUE), "on") != 0)
		reason = psprintf("setting %s is off on the target", setting);
	PQclear(res);
	free(sql);
	return reason;
}

/*
 * From now on the library does the work of this setting in this session, as
 * far as it can (doc/library.md).  The session must not be in a transaction.
 * Returns NULL, or the reason why the server does the work as usual, owned.
 * Ends with session_failed() if the session is lost.
 */
static char *
library_begin(PGconn *conn, const char *setting)
{
	char	   *reason = load_library(conn);
	bool		begun;

	if (reason)
		return reason;
	begun = session_begin_settings(conn);
	reason = switch_on(conn, setting);
	session_end_settings(conn, begun);
	return reason;
}

/* Report what does the work instead of the library, and why. */
static void
report_server_work(const char *work, const char *reason)
{
	char	   *detail = message_sentence(printable(reason));

	pg_log_info("%s", work);
	pg_log_info_detail("%s", detail);
	free(detail);
}

/*
 * Can the library be used in the sessions of a run?  This is tried in the
 * leader's session.  If it cannot, a message says what does the work instead,
 * and why; reason is NULL unless the reason is known already.
 */
static bool
library_try(PGconn *conn, const char *setting, const char *reason,
			const char *work)
{
	char	   *found = reason ? pg_strdup(reason) : switch_on(conn, setting);
	bool		can = found == NULL;

	if (!can)
		report_server_work(work, found);
	free(found);
	return can;
}

/* ----------
 * Does the target still have everything that was committed?
 * ----------
 */

/*
 * After a promotion, one of these columns has the new timeline at once, the
 * other only after the next checkpoint (xlog.c:CreateEndOfRecoveryRecord).
 */
#define HISTORY_SQL \
"(SELECT pg_catalog.concat_ws(' ', s.system_identifier," \
" GREATEST(c.timeline_id, r.min_recovery_end_timeline))" \
" FROM pg_catalog.pg_control_system() s, pg_catalog.pg_control_checkpoint() c," \
" pg_catalog.pg_control_recovery() r)"

/*
 * The current state of the server.  Functions that the role may not execute
 * must not even be in the query, because the parser checks privileges before
 * it decides which branch is taken.  So the query is composed of the allowed
 * functions.
 */
TargetState
target_state(PGconn *conn)
{
	PGresult   *self = session_query(conn, session_self_query);
	bool		may = PQgetvalue(self, 0, SELF_MAY_READ_CONTROL)[0] == 't';
	bool		may_identify = PQgetvalue(self, 0, SELF_MAY_IDENTIFY)[0] == 't';
	char	   *sql = psprintf("SELECT " TARGET_INCARNATION_SQL ", %s,"
							   " pg_catalog.current_setting('wal_level'), %s,"
							   " (SELECT d.oid FROM pg_catalog.pg_database d"
							   " WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()), "
							   LAYOUT_SQL ", pg_catalog.pg_is_in_recovery()",
							   may ? HISTORY_SQL : "NULL",
							   may_identify ? SYSTEM_IDENTIFIER_SQL : "NULL");
	PGresult   *res = session_query(conn, sql);
	TargetState state = {
		.incarnation = pg_strdup(PQgetvalue(res, 0, 0)),
		.history = pg_strdup(PQgetvalue(res, 0, 1)),
		.wal_level = pg_strdup(PQgetvalue(res, 0, 2)),
		.system_identifier = pg_strdup(PQgetvalue(res, 0, 3)),
		.database = result_oid(res, 0, 4),
		.layout = pg_strdup(PQgetvalue(res, 0, 5)),
		.has_lz4 = result_is_true(res, 0, 6),
		.is_standby = result_is_true(res, 0, 7),
	};

	PQclear(self);
	PQclear(res);
	return state;
}

bool
target_history_was_restarted(PGconn *conn, const char *incarnation)
{
	return strcmp(target_state(conn).incarnation, incarnation) != 0;
}

/*
 * Exit with a message unless the history is the expected one, or none is
 * known.  A session with fewer privileges than the one that has read it
 * cannot compare it, which is an error, too.
 */
static void
expect(PGconn *conn, const TargetState *state, const char *expected)
{
	if (*expected == '\0')
		return;
	if (*state->history == '\0')
	{
		char	   *role = session_value(conn, "SELECT CURRENT_USER");

		pg_log_error("could not verify that the target is still the same server");
		pg_log_error_detail("Role \"%s\" may not execute pg_control_system(), pg_control_checkpoint() and pg_control_recovery() on the target.",
							printable(role));
		pg_fatal_hint("As a superuser, run in database \"%s\" of the target: GRANT EXECUTE ON FUNCTION pg_control_system(), pg_control_checkpoint(), pg_control_recovery() TO %s;",
					  printable(PQdb(conn)), printable(fmtId(role)));
	}
	if (strcmp(state->history, expected) != 0)
	{
		pg_log_error("the target is now another server, after a failover or a restore");
		pg_log_error_detail("Rows that had been committed might be missing.");
		pg_fatal_hint("Run the same command again, into an empty database or with --clean.");
	}
}

TargetState
target_history_expect(PGconn *conn, const char *expected)
{
	TargetState state = target_state(conn);

	expect(conn, &state, expected);
	return state;
}

static const char unlogged_query[] =
"SELECT pg_catalog.count(DISTINCT c.oid),"
" pg_catalog.string_agg(DISTINCT c.oid::pg_catalog.regclass::pg_catalog.text, ', ')"
" FROM pg_catalog.unnest($1::pg_catalog.text[]) t (name),"
" LATERAL " TABLE_OID_OF("t.name") " named (oid),"
" LATERAL (SELECT named.oid UNION ALL"
" SELECT p.relid FROM pg_catalog.pg_partition_tree(named.oid) p) r (oid)"
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) r.oid"
" WHERE c.relkind OPERATOR(pg_catalog.=) 'r' AND c.relpersistence OPERATOR(pg_catalog.=) 'u'";

void
target_history_check_unlogged(PGconn *conn, const DumpTables *tables,
							  const char *incarnation)
{
	const char *params[1];
	PGresult   *res;
	int			n;

	if (!target_history_was_restarted(conn, incarnation))
		return;
	params[0] = dump_tables_name_array(conn, tables, true);
	res = session_query_params(conn, unlogged_query, 1, params, 0);
	n = session_number(res, 0, 0, 0, INT_MAX);
	if (n > 0)
	{
		pg_log_error("unlogged tables of the target might have lost rows");
		pg_log_error_detail("The target was restarted, or its statistics were reset, during the run.");
		pg_log_error_detail("Tables: %s.",
							printable(PQgetvalue(res, 0, 1)));
		pg_fatal_hint("Truncate these tables, load their rows again with --data-only and --table, and run ANALYZE.");
	}
	PQclear(res);
}

/* ----------
 * The connection to the target.
 * ----------
 */

/*
 * A clone of the source's cluster has the same identifier.  It is refused,
 * too, because a session cannot distinguish it from the source.
 */
void
target_refuse_same_database(const Target *target, const DumpOrigin *source,
							const char *new_name)
{
	TargetState state = target_state(target->conn);
	bool		of_source = source->system_identifier == NULL;

	if (of_source || *state.system_identifier == '\0')
	{
		char	   *role;

		pg_log_error("could not determine whether source and target are the same database");
		if (of_source)
		{
			pg_log_error_detail("The role on the source may not execute pg_control_system().");
			pg_fatal_hint("As a superuser, run in database \"%s\" of the source, with the name of this role: GRANT EXECUTE ON FUNCTION pg_control_system() TO ...;",
						  printable(source->database));
		}
		role = session_value(target->conn, "SELECT CURRENT_USER");
		pg_log_error_detail("Role \"%s\" may not execute pg_control_system() on the target.",
							printable(role));
		pg_fatal_hint("As a superuser, run in database \"%s\" of the target: GRANT EXECUTE ON FUNCTION pg_control_system() TO %s;",
					  printable(PQdb(target->conn)), printable(fmtId(role)));
	}
	if (strcmp(source->system_identifier, state.system_identifier) == 0 &&
		(new_name ? strcmp(source->database, new_name) == 0
		 : source->database_oid == state.database))
	{
		pg_log_error("source and target are the same database, \"%s\"",
					 printable(source->database));
		pg_log_error_detail("Both are in the cluster with system identifier %s, or in a clone of it.",
							source->system_identifier);
		pg_fatal_hint("Specify a database of another name, or a server whose cluster was not cloned from that of the source.");
	}
}

/* A restore has only one server, so --password-command is for the target. */
static const char *
password_command(const Target *target)
{
	return target->options->restore ? target->options->password_command :
		target->options->target_password_command;
}

static bool
database_exists(const Target *target, const char *name)
{
	static char everywhere[] = "template1";
	ConnParams	other = target->params;
	PGconn	   *conn;
	bool		exists;

	other.override_dbname = everywhere;
	other.prompt_password = TRI_NO;
	conn = connection_ask(&other, password_command(target), "pg_pardump");
	if (PQstatus(conn) != CONNECTION_OK)
	{
		PQfinish(conn);
		return true;			/* the server may be the same */
	}
	exists = target_has_database(conn, name);
	session_close(conn);
	return exists;
}

/*
 * libpq does not provide the SQLSTATE of a refused connection, but the
 * server's message contains the name of the database if that is the problem.
 */
pg_noreturn static void
failed_to_connect(const Target *target, PGconn *conn)
{
	/* Only a connection string can contain another name. */
	char	   *name = pg_strdup(PQdb(conn) ? PQdb(conn) : "");
	char	   *quoted = psprintf("\"%s\"", name);
	bool		names_it = strstr(PQerrorMessage(conn), quoted) != NULL;

	connection_report_failure(conn);
	PQfinish(conn);
	if (names_it && !database_exists(target, name))
		pg_log_error_hint("Create the database with createdb; or use --create to create it with the name of the source database, and specify another database to connect to first in %s, for example dbname=postgres.",
						  target->options->restore ? "-d" : "--target");
	exit(1);
}

/*
 * Reset the timeout, which may be too short for the queries before the
 * session is prepared.
 */
static void
forget_timeout(PGconn *conn)
{
	session_command_settings(conn, "SET statement_timeout = 0");
}

void
target_open(Target *target)
{
	target->conn = connection_ask(&target->params, password_command(target),
								  "pg_pardump");
	if (PQstatus(target->conn) != CONNECTION_OK)
		failed_to_connect(target, target->conn);
	forget_timeout(target->conn);

	/*
	 * A standby accepts connections and queries, so without this check the
	 * run would fail only at its first change.
	 */
	if (target_state(target->conn).is_standby)
	{
		pg_log_error("the target is a standby, which is read-only");
		pg_fatal_hint("Specify the primary server as the target.");
	}
	target->address = peer_address_new(target->conn, true, target->params.dbname,
									   password_command(target));
}

void
target_refuse_source(const Target *target, const DumpOrigin *source,
					 const char *pg_dump_version, const char *new_name)
{
	/*
	 * The statements of pg_dump and pg_restore need a server of pg_dump's
	 * major or newer.
	 */
	if (PQserverVersion(target->conn) / 10000 < atoi(pg_dump_version))
	{
		pg_log_error("target server version %s is older than the pg_dump in use, version %s",
					 PQparameterStatus(target->conn, "server_version"),
					 printable(pg_dump_version));
		pg_fatal_hint("If the source is not newer than the target, use --pg-dump to specify pg_dump of the target's major version.");
	}
	target_refuse_same_database(target, source, new_name);
}

/* ----------
 * Sessions
 * ----------
 */

PGresult *
target_query(PGconn *conn, const char *sql, int n_params,
			 const char *const *params)
{
	PGresult   *res = PQexecParams(conn, sql, n_params, NULL, params, NULL,
								   NULL, 0);

	if (session_refused(conn, res, sql))
		session_failed(conn, res, "query failed", sql);
	return res;
}

void
target_command(PGconn *conn, const char *sql)
{
	PQclear(target_query(conn, sql, 0, NULL));
}

/*
 * Returns the address with another value of a keyword: if a keyword occurs
 * several times in a connection string, the last value counts.  The caller
 * owns it.
 */
static PeerAddress *
changed_address(const PeerAddress *address, const char *keyword,
				const char *value)
{
	PeerAddress *result = pg_malloc(sizeof(PeerAddress));
	PQExpBufferData buf = buffer_new();

	*result = *address;
	appendPQExpBuffer(&buf, " %s=", keyword);
	appendConnStrVal(&buf, value);
	result->conninfo = psprintf("%s%s", address->conninfo, buf.data);
	result->private_conninfo = psprintf("%s%s", address->private_conninfo,
										buf.data);
	return result;
}

void
target_enter(Target *target, const char *dbname)
{
	session_close(target->conn);
	target->address = changed_address(target->address, "dbname", dbname);
	target->conn = connection_open_peer(target->address, "pg_pardump");
	forget_timeout(target->conn);
}

bool
target_has_database(PGconn *conn, const char *name)
{
	const char *params[] = {name};
	PGresult   *res = session_query_params(conn,
										   "SELECT FROM pg_catalog.pg_database d"
										   " WHERE d.datname::pg_catalog.text OPERATOR(pg_catalog.=) $1",
										   1, params, 0);

	return PQntuples(res) > 0;
}

PGconn *
target_try_database(const Target *target, const char *dbname)
{
	/* A refused connection would be in the server's log. */
	if (!target_has_database(target->conn, dbname))
		return NULL;
	return connection_try_peer(changed_address(target->address, "dbname", dbname),
							   "pg_pardump");
}

/* The "options" with which the connection was made; owned. */
static char *
startup_options(PGconn *conn)
{
	PQconninfoOption *all = PQconninfo(conn);
	const char *value = all ? conninfo_value(all, "options") : NULL;
	char	   *result = pg_strdup(value ? value : "");

	PQconninfoFree(all);
	return result;
}

/*
 * The smallest values of settings, in kB if they have units; and fixed values
 * of settings that pg_restore leaves to the role or the database, or does not
 * know yet; and those of session_settings.c.
 */
static const struct
{
	const char *name;
	const char *value;			/* NULL = use the minimum */
	int64		least;
}			build_settings[] = {
	{"maintenance_work_mem", NULL, 262144},
	{"statement_timeout", "0"},
	{"idle_session_timeout", "0"},
	{"transaction_timeout", "0"},
	{"tcp_keepalives_idle", CppAsString2(KEEPALIVE_IDLE_S)},
	{"tcp_keepalives_interval", CppAsString2(KEEPALIVE_INTERVAL_S)},
	{"tcp_keepalives_count", CppAsString2(KEEPALIVE_COUNT)},
	{"default_transaction_read_only", "off"},
	{"array_nulls", "on"},
};

/* Append those settings that the server knows, as options of a connection. */
static void
append_build_settings(PQExpBuffer options, PGconn *conn)
{
	PQExpBufferData names = buffer_new();
	char	   *sql;
	PGresult   *res;

	for (int i = 0; i < (int) lengthof(build_settings); i++)
		appendPQExpBuffer(&names, "%s%s", i > 0 ? "," : "",
						  build_settings[i].name);
	sql = psprintf(SESSION_KNOWN_SETTINGS("%s"), names.data);
	res = session_query(conn, sql);
	for (int i = 0; i < PQntuples(res); i++)
		for (int j = 0; j < (int) lengthof(build_settings); j++)
		{
			const char *name = build_settings[j].name;
			int64		now = atoll(PQgetvalue(res, i, SETTING_VALUE));

			if (strcmp(PQgetvalue(res, i, SETTING_NAME), name) != 0)
				continue;
			if (build_settings[j].value)
				appendPQExpBuffer(options, " -c %s=%s", name,
								  build_settings[j].value);
			else
				appendPQExpBuffer(options, " -c %s=" INT64_FORMAT, name,
								  Max(now, build_settings[j].least));
		}
	PQclear(res);
}

/*
 * The address for stock programs and for our definition sessions: that of the
 * target session, with settings in the connection's options, because
 * pg_restore has no options for them.
 */
PeerAddress *
target_restore_address(const Target *target, const char *synchronous_commit)
{
	PQExpBufferData options = buffer_new();

	appendPQExpBuffer(&options, "%s -c synchronous_commit=%s",
					  startup_options(target->conn), synchronous_commit);
	append_build_settings(&options, target->conn);
	return changed_address(target->address, "options", options.data);
}

/*
 * The commit of a COPY waits for the target's own disk, so that steps noted
 * as done survive a crash, but not for standbys.  The target's triggers and
 * partitions may read views and foreign tables.  Concurrent serializable
 * transactions would make each other fail.
 *
 * If statements are logged, by the server or by auto_explain, the parameters
 * of ours are blocks of rows and of large objects.  They do not belong in a
 * log, and can be too long for it.  Only a superuser can exclude them.
 */
static const char load_settings_query[] =
SESSION_SET("synchronous_commit", "local") "; "
SESSION_SET("default_transaction_read_only", "off") "; "
SESSION_SET("default_transaction_isolation", "read committed") "; "
SESSION_SET("array_nulls", "on") "; "
SESSION_SET("xmloption", "content") "; "
SESSION_SET("client_min_messages", "warning") "; "
SESSION_KNOWN_SETTINGS("restrict_nonsystem_relation_kind=,"
					   "log_parameter_max_length_on_error=0");

static const char superuser_settings_query[] =
SESSION_KNOWN_SETTINGS("log_parameter_max_length=0,"
					   "auto_explain.log_parameter_max_length=0");

/*
 * The effect of --disable-triggers, for one transaction.  pg_restore uses
 * ALTER TABLE.
 */
#define SET_TRIGGERS_OFF "SET LOCAL session_replication_role = replica"

/*
 * Prepare a session.  Superusers also keep the parameters of our statements,
 * which are blocks of rows, out of the server's log.
 */
static void
target_set_up(const Target *target, PGconn *conn)
{
	bool		begun = session_begin_settings(conn);
	const char *superuser;

	session_set_up(conn, target->options, target->encoding);
	PQclear(session_query(conn, load_settings_query));
	superuser = PQparameterStatus(conn, "is_superuser");
	if (superuser && strcmp(superuser, "on") == 0)
		PQclear(session_query(conn, superuser_settings_query));
	/* Check the privilege now, instead of after the definitions. */
	if (target->options->disable_triggers)
		session_command(conn, SET_TRIGGERS_OFF);
	session_end_settings(conn, begun);
}

void
target_begin_load(const Target *target, PGconn *conn)
{
	session_begin_unwatched(conn, target->options->disable_triggers ?
							"BEGIN; " SET_TRIGGERS_OFF : "BEGIN");
}

/* Determine what the extension's library does in the sessions of the run. */
static void
choose_library(Target *target)
{
	const Options *options = target->options;
	char	   *missing;
	bool		begun;

	if (options->no_extension)
		missing = pg_strdup("option --no-extension was specified");
	else if (library_is_missing(target->conn))
		missing = pg_strdup("extension pg_pardump is not available on the target's server");
	else
		missing = load_library(target->conn);
	begun = session_begin_settings(target->conn);
	target->fast_copy = library_try(target->conn, COPY_SETTING, missing,
									"loading rows with the target's own COPY");
	target->fast_index = library_try(target->conn, INDEX_SETTING,
									 options->no_fast_index ?
									 "option --no-fast-index was specified" :
									 missing, OWN_BUILDS);
	target->builds_reported = shared_memory_new(1, sizeof(int));
	session_end_settings(target->conn, begun);
	free(missing);
}

void
target_begin(Target *target)
{
	TargetState state;

	target_set_up(target, target->conn);
	choose_library(target);
	state = target_state(target->conn);
	if (*state.history == '\0')
	{
		char	   *role = session_value(target->conn, "SELECT CURRENT_USER");

		pg_log_warning("a failover of the target will not be detected");
		pg_log_warning_detail("Role \"%s\" may not execute pg_control_system(), pg_control_checkpoint() and pg_control_recovery() on the target.",
							  printable(role));
		pg_log_warning_hint("As a superuser, run in database \"%s\" of the target: GRANT EXECUTE ON FUNCTION pg_control_system(), pg_control_checkpoint(), pg_control_recovery() TO %s;",
							printable(PQdb(target->conn)), printable(fmtId(role)));
		free(role);
	}
	target->incarnation = state.incarnation;
	target->history = state.history;
	target->wal_level = state.wal_level;
}

PGconn *
target_connect(const Target *target)
{
	PGconn	   *conn = connection_open_peer(target->address, "pg_pardump");

	target_set_up(target, conn);
	return conn;
}

/* Was a method of TOAST compression chosen? */
static bool
is_wanted(const char *method)
{
	return method != NULL && strcmp(method, "default") != 0;
}

/* From now on this session compresses rows with this method. */
static void
toast_compression_set(PGconn *conn, const char *method)
{
	bool		begun;

	if (!is_wanted(method))
		return;
	begun = session_begin_settings(conn);
	session_set(conn, "default_toast_compression", method, false);
	session_end_settings(conn, begun);
}

/*
 * Open a session that loads rows.  If the library cannot be loaded now,
 * although the leader's session could load it, the server's own COPY does the
 * same more slowly.
 */
PGconn *
target_connect_loader(const Target *target)
{
	PGconn	   *conn = target_connect(target);

	if (target->fast_copy)
		free(library_begin(conn, COPY_SETTING));
	toast_compression_set(conn, target->options->toast_compression);
	return conn;
}

/*
 * Unlike set_config(), SET makes the library compare its builds with the
 * server's, if it runs outside a transaction block.
 */
static char *
begin_builds(PGconn *conn)
{
	char	   *reason = library_begin(conn, INDEX_SETTING);
	PGresult   *res;

	if (reason)
		return reason;
	target_command(conn, "SET " INDEX_SETTING " TO on");
	res = target_query(conn, SESSION_KNOWN_SETTINGS(INDEX_SETTING "_reason"),
					   0, NULL);
	if (PQntuples(res) == 0)
		reason = not_supported(INDEX_SETTING);
	else if (*PQgetvalue(res, 0, SETTING_VALUE))
		reason = pg_strdup(PQgetvalue(res, 0, SETTING_VALUE));
	PQclear(res);
	return reason;
}

void
target_begin_builds(const Target *target, PGconn *conn)
{
	char	   *reason = target->fast_index ? begin_builds(conn) : NULL;

	if (reason && __sync_bool_compare_and_swap(target->builds_reported, 0, 1))
		report_server_work(OWN_BUILDS, reason);
	free(reason);
}

void
target_keep(Target *target)
{
	if (!session_answers(target->conn))
		target_renew(target);
}

void
target_renew(Target *target)
{
	session_close(target->conn);
	/* If connecting fails within session_try(), there is no connection. */
	target->conn = NULL;
	target->conn = target_connect(target);
	(void) target_history_expect(target->conn, target->history);
}

/* ----------
 * The transactions of jobs, and a COMMIT without an answer.
 * ----------
 */

/*
 * How long a transaction may be in progress after its client is gone: longer
 * than the server takes to notice that (session_settings.c).  And how often
 * to check.
 */
#define IN_PROGRESS_MS 120000
#define IN_PROGRESS_LOOK_MS 100

/*
 * Commit, and note each step in shared memory: the transaction's ID before
 * COMMIT is sent, then that it was sent, then that it succeeded.
 * txid_current() assigns an ID if the transaction has none yet.
 */
void
target_commit(PGconn *conn, TargetCommit *commit)
{
	PGresult   *res = target_query(conn, "SELECT pg_catalog.txid_current()",
								   0, NULL);

	commit->xid = result_number(res, 0, 0);
	PQclear(res);
	commit->state = TARGET_COMMIT_SENT;
	target_command(conn, "COMMIT");
	commit->state = TARGET_COMMIT_DONE;
}

/*
 * Exit because the outcome of a COMMIT is unknown.  A restore reports at its
 * end whether it can be resumed.
 */
pg_noreturn static void
unknown_outcome(const Target *target, const char *why)
{
	pg_log_error("could not determine whether the last transaction was committed");
	pg_log_error_detail("%s", message_sentence(why));
	if (target->options->restore == NULL)
		pg_log_error_hint("Run the same command again, into an empty database or with --clean.");
	exit(1);
}

/*
 * Was the transaction committed?  Its server knows that, unless it was
 * restarted: then a transaction of which nothing had reached the disk is
 * unknown, and its ID may be used again.
 */
static bool
was_committed(PGconn *conn, const Target *target, uint64 xid)
{
	char		text[32];
	const char *params[] = {text, target->incarnation};
	char		status[32];

	snprintf(text, sizeof(text), UINT64_FORMAT, xid);
	for (int ms = 0; ms < IN_PROGRESS_MS; ms += IN_PROGRESS_LOOK_MS)
	{
		PGresult   *res = target_query(conn,
									   "SELECT pg_catalog.txid_status($1::pg_catalog.int8),"
									   TARGET_INCARNATION_SQL " OPERATOR(pg_catalog.=) $2",
									   2, params);
		bool		same_server = result_is_true(res, 0, 1);

		strlcpy(status, PQgetvalue(res, 0, 0), sizeof(status));
		PQclear(res);
		if (!same_server)
			unknown_outcome(target, "The target was restarted during COMMIT.");
		if (strcmp(status, "in progress") != 0)
			break;
		/* Its backend has not noticed yet that the client is gone. */
		pg_usleep(IN_PROGRESS_LOOK_MS * 1000L);
	}
	if (strcmp(status, "committed") != 0 && strcmp(status, "aborted") != 0)
		unknown_outcome(target, psprintf("The server reports the status of transaction " UINT64_FORMAT " as \"%s\".",
										 xid, printable(status)));
	return status[0] == 'c';
}

bool
target_commit_is_done(PGconn *conn, const Target *target,
					  TargetCommit *commit)
{
	if (commit->state == TARGET_COMMIT_SENT)
		commit->state = was_committed(conn, target, commit->xid) ?
			TARGET_COMMIT_DONE : TARGET_COMMIT_PENDING;
	return commit->state == TARGET_COMMIT_DONE;
}

/*
 * The possible values of the setting show with which methods the server was
 * built (14 or newer).
 */
static const char known_query[] =
"SELECT $1 OPERATOR(pg_catalog.=) ANY (s.enumvals)"
" FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) 'default_toast_compression'";

void
toast_compression_check(PGconn *conn, const char *method)
{
	PGresult   *res;

	if (!is_wanted(method))
		return;
	res = session_query_params(conn, known_query, 1, &method, 0);
	if (PQntuples(res) == 0)
	{
		pg_log_error("target server version %s does not support a choice of TOAST compression methods",
					 PQparameterStatus(conn, "server_version"));
		pg_log_error_detail("Option --toast-compression requires a target of PostgreSQL 14 or newer.");
		pg_log_error_hint("Omit --toast-compression.");
	}
	else if (!result_is_true(res, 0, 0))
	{
		pg_log_error("the target server does not support TOAST compression method %s",
					 method);
		pg_log_error_detail("The server was built without this method.");
	}
	PQclear(res);
}

/*
 * standby.c
 *		The leader's sessions on the standbys of --also-from.
 *
 * It opens them, checks that all servers can be read as if they were one, and
 * notices their loss.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/interrupt.h"
#include "plan/previous_archive.h"
#include "session/session_lost.h"
#include "session/session_settings.h"
#include "source/standby.h"

/*
 * As long as for the source's session, because a session on a standby cannot
 * be replaced (leader_session.c).
 */
#define ANSWER_MS 120000

/*
 * Connect to a standby.  libpq's message about an invalid string is not
 * shown, because it would quote the string, which may contain a password.
 */
static PGconn *
connect_to(const Options *options, const char *conninfo, PGconn *first)
{
	ConnParams	params = {.prompt_password = options->connection.prompt_password};
	PQconninfoOption *parsed = PQconninfoParse(conninfo, NULL);

	if (parsed == NULL)
	{
		pg_log_error("invalid connection string for option %s", "--also-from");
		pg_fatal_hint("Use a connection string as for psql, for example \"host=standby2 port=5432\".");
	}
	params.dbname = unconstify(char *, conninfo);
	/* A user in the connection string overrides this one. */
	params.pguser = PQuser(first);
	if (!conninfo_value(parsed, "dbname") && !conninfo_value(parsed, "service"))
		params.override_dbname = PQdb(first);
	PQconninfoFree(parsed);
	return connection_open_params(&params, options->password_command, "pg_pardump");
}

static void
set_up_standby(Standby *standby, PGconn *conn, const PeerAddress *address)
{
	standby->conn = conn;
	standby->address = address;
	standby->name = connection_server_name(conn);
}

Standbys *
standby_open(const Options *options, PGconn *first,
			 const PeerAddress *address, const char *option)
{
	Standbys   *standbys = pg_malloc0(sizeof(Standbys));

	standbys->options = options;
	standbys->option = option;
	standbys->n = 1;
	for (const SimpleStringListCell *cell = options->also_from.head; cell;
		 cell = cell->next)
		standbys->n++;
	/* Allocated once: notices of the sessions point to the elements. */
	standbys->list = pg_malloc0(standbys->n * sizeof(Standby));
	set_up_standby(&standbys->list[0], first, address);
	standbys->n = 1;
	for (const SimpleStringListCell *cell = options->also_from.head; cell;
		 cell = cell->next)
	{
		PGconn	   *conn = connect_to(options, cell->val, first);

		set_up_standby(&standbys->list[standbys->n++], conn,
					   peer_address_new(conn, false, cell->val,
										options->password_command));
		session_set_up(conn, options, options->encoding);
	}
	interrupt_set_connection(first);
	return standbys;
}

PGconn *
standby_session(const Standbys *standbys, const Standby *standby)
{
	PGconn	   *conn = connection_open_peer(standby->address,
											"pg_pardump check");

	session_set_up(conn, standbys->options, standbys->options->encoding);
	return conn;
}

/* ----------
 * Loss
 * ----------
 */

/*
 * A PQnoticeReceiver, which keeps the error with which the server ends the
 * session.
 */
static void
standby_receive_notice(void *arg, const PGresult *res)
{
	Standby    *standby = arg;
	const char *severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);

	if (severity == NULL || strcmp(severity, "FATAL") != 0)
	{
		connection_show_notice(NULL, res);
		return;
	}
	standby->last_words = session_error_words(standby->conn, res);
}

/*
 * The start time is compared, too, because another backend may have the same
 * process ID later.  After a promotion, queries with indexes may miss rows
 * (snapshot_identity()).
 */
static const char holder_format[] =
SESSION_FRESH_ACTIVITY "SELECT 1 FROM pg_catalog.pg_stat_get_activity(%s) a"
" WHERE a.backend_xmin IS NOT NULL"
" AND pg_catalog.date_part('epoch', a.backend_start)::pg_catalog.text"
" OPERATOR(pg_catalog.=) '%s' AND pg_catalog.pg_is_in_recovery()";

void
standby_watch(Standby *standby)
{
	PGresult   *res = session_query(standby->conn,
									"SELECT a.pid, pg_catalog.date_part('epoch', a.backend_start)"
									" FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) a");

	if (PQntuples(res) != 1)
		session_unexpected(psprintf("The session on standby \"%s\" is missing from pg_stat_activity.",
									standby->name));
	standby->holder_query = psprintf(holder_format, PQgetvalue(res, 0, 0),
									 PQgetvalue(res, 0, 1));
	PQclear(res);

	/*
	 * Set it only now: before the snapshot was taken, a lost session is an
	 * ordinary error.
	 */
	PQsetNoticeReceiver(standby->conn, standby_receive_notice, standby);
}

static void
was_lost(Standby *standby)
{
	const char *words = standby->last_words ? standby->last_words :
		PQerrorMessage(standby->conn);

	interrupt_check();
	pg_log_warning("connection to standby \"%s\" was lost; continuing with the other standbys",
				   standby->name);
	pg_log_warning_detail("%s", message_sentence(*words ? words :
												 "the server did not respond"));
	PQfinish(standby->conn);
	standby->conn = NULL;
}

void
standby_discard(Standby *standby)
{
	if (standby->conn == NULL)
		return;
	if (!session_has_ended(standby->conn) && standby->last_words == NULL)
		standby->last_words = "its session has ended, or the standby was promoted";
	was_lost(standby);
}

void
standby_keep(Standbys *standbys)
{
	for (int i = 1; i < standbys->n; i++)
	{
		Standby    *standby = &standbys->list[i];

		if (standby->conn &&
			(session_has_ended(standby->conn) || standby->last_words))
			was_lost(standby);
	}
}

PGresult *
standby_look(Standby *standby, const char *query)
{
	bool		lost;
	PGresult   *res;

	if (standby->conn == NULL)
		return NULL;
	res = session_look(standby->conn, query, ANSWER_MS, &lost);
	if (!lost)
		return res;
	PQclear(res);
	was_lost(standby);
	return NULL;
}

bool
standby_has_snapshot(const Standby *standby, PGconn *conn, bool *has_not)
{
	bool		lost;
	PGresult   *res = session_look(conn, standby->holder_query, ANSWER_MS,
								   &lost);
	bool		answered = !lost && PQresultStatus(res) == PGRES_TUPLES_OK;
	bool		result = answered && PQntuples(res) == 1;

	PQclear(res);
	*has_not = answered && !result;
	return result;
}

const char **
standby_names(const Standbys *standbys)
{
	const char **names = pg_malloc(standbys->n * sizeof(char *));

	for (int i = 0; i < standbys->n; i++)
		names[i] = standbys->list[i].name;
	return names;
}

void
standby_close(Standbys *standbys)
{
	for (int i = 1; i < standbys->n; i++)
	{
		session_close(standbys->list[i].conn);
		standbys->list[i].conn = NULL;
	}
}

/* ----------
 * Checks whether several servers can be read as one.
 * ----------
 */

/*
 * PostgreSQL 14 added pg_get_wal_replay_pause_state(); 15 is the oldest
 * version that is supported here.
 */
#define MIN_VERSION 150000

/* Columns of check_query: what must be true, or the same on all servers. */
enum Column
{
	COL_IN_RECOVERY,
	COL_SYSTEM_IDENTIFIER,
	COL_DATABASE,
	COL_ROLES,
	COL_LC_MONETARY,
	COL_XML_BINARY,
	COL_STARTED,				/* identifies a server: two do not start at
								 * the same time */
	COL_MAY_PAUSE,
	COL_SEES_TIMELINE,
	COL_IS_WAITED_FOR
};

static const char check_query[] =
"SELECT pg_catalog.pg_is_in_recovery(), s.system_identifier,"
" pg_catalog.current_database(),"
" pg_catalog.concat_ws(' as ', session_user, current_user),"
" pg_catalog.current_setting('lc_monetary'), pg_catalog.current_setting('xmlbinary'),"
" pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()),"
" pg_catalog.has_function_privilege(session_user, 'pg_catalog.pg_wal_replay_pause()', 'EXECUTE')"
" AND pg_catalog.has_function_privilege(session_user, 'pg_catalog.pg_wal_replay_resume()', 'EXECUTE'),"
" NOT EXISTS (SELECT FROM pg_catalog.pg_stat_wal_receiver w WHERE w.received_tli IS NULL),"
" pg_catalog.current_setting('synchronous_standby_names') OPERATOR(pg_catalog.<>) ''"
" AND (pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'remote_apply'"
" OR EXISTS (SELECT FROM pg_catalog.pg_db_role_setting d WHERE 'synchronous_commit=remote_apply'"
" OPERATOR(pg_catalog.=) ANY (d.setconfig)))"
" FROM pg_catalog.pg_control_system() s";

static PGresult *
ask(const Standbys *standbys, const Standby *standby)
{
	PGresult   *res;

	if (PQserverVersion(standby->conn) < MIN_VERSION)
	{
		pg_log_error("server \"%s\" has version %s, but %s requires PostgreSQL %s or newer",
					 standby->name,
					 PQparameterStatus(standby->conn, "server_version"), standbys->option, "15");
		pg_fatal_hint("Run pg_pardump without %s.", standbys->option);
	}
	res = session_query(standby->conn, check_query);
	if (PQntuples(res) != 1)
		session_unexpected(psprintf("The identity of server \"%s\" has %d rows instead of one.",
									standby->name, PQntuples(res)));
	return res;
}

/* Check a server by itself. */
static void
check_one(const Standbys *standbys, const Standby *standby,
		  const PGresult *res)
{
	if (!result_is_true(res, 0, COL_IN_RECOVERY))
	{
		pg_log_error("server \"%s\" is not a standby, but %s requires all servers to be standbys",
					 standby->name, standbys->option);
		pg_log_error_detail("A snapshot of a primary does not correspond to a WAL position at which replay on a standby could be paused.");
		pg_log_error_hint("Use standbys only, and specify one of them instead of the primary.");
		return;
	}
	if (!result_is_true(res, 0, COL_MAY_PAUSE))
	{
		pg_log_error("the role may not pause replay on standby \"%s\"",
					 standby->name);
		pg_log_error_hint("On the primary, run in this database: GRANT EXECUTE ON FUNCTION pg_wal_replay_pause(), pg_wal_replay_resume() TO %s;",
						  printable(fmtId(PQuser(standby->conn))));
	}
	if (!result_is_true(res, 0, COL_SEES_TIMELINE))
	{
		pg_log_error("the role may not see which timeline standby \"%s\" follows",
					 standby->name);
		pg_log_error_hint("On the primary, run GRANT pg_read_all_stats TO %s;",
						  printable(fmtId(PQuser(standby->conn))));
	}
	if (result_is_true(res, 0, COL_IS_WAITED_FOR) &&
		!standbys->options->pause_synchronous)
	{
		pg_log_error("commits on the primary might wait for replay on standby \"%s\"",
					 standby->name);
		pg_log_error_detail("synchronous_standby_names of the primary is not empty, and synchronous_commit is remote_apply, globally or for a role or database.");
		pg_log_error_hint("Use --pause-synchronous to pause replay anyway, usually for 0.1 s, and for 5 s at most.");
	}
}

static void
check_same(const Standby *standby, const Standby *first, const char *error,
		   const char *its, const char *firsts)
{
	if (strcmp(its, firsts) == 0)
		return;
	pg_log_error(error, first->name, standby->name);
	pg_log_error_detail("The values are \"%s\" and \"%s\".",
						printable(pg_strdup(firsts)),
						printable(pg_strdup(its)));
	pg_log_error_hint("Use standbys of the same primary, and connect to all of them with the same database, role and settings.");
}

static void
check_against(const Standbys *standbys, const Standby *standby,
			  const PGresult *res, const PGresult *firsts)
{
	static const char *const errors[] = {
		NULL,
		"standbys \"%s\" and \"%s\" have different system identifiers",
		"the databases on standbys \"%s\" and \"%s\" have different names",
		"the roles on standbys \"%s\" and \"%s\" have different names",
		"the values of lc_monetary on standbys \"%s\" and \"%s\" are different",
		"the values of xmlbinary on standbys \"%s\" and \"%s\" are different"
	};
	const Standby *first = &standbys->list[0];

	for (enum Column i = COL_SYSTEM_IDENTIFIER; i <= COL_XML_BINARY; i++)
		check_same(standby, first, errors[i], PQgetvalue(res, 0, i),
				   PQgetvalue(firsts, 0, i));
	check_same(standby, first,
			   "settings on standbys \"%s\" and \"%s\" are different", fingerprint_settings(standby->conn),
			   fingerprint_settings(first->conn));
}

/* A server that is named twice would be read twice, which gains nothing. */
static void
check_once(const Standbys *standbys, PGresult *const *results, int no)
{
	for (int i = 0; i < no; i++)
	{
		if (strcmp(PQgetvalue(results[i], 0, COL_STARTED),
				   PQgetvalue(results[no], 0, COL_STARTED)) != 0)
			continue;
		pg_log_error("\"%s\" and \"%s\" are the same server", standbys->list[i].name,
					 standbys->list[no].name);
		pg_log_error_hint("Specify each server once.");
		return;
	}
}

void
standby_check(const Standbys *standbys)
{
	PGresult  **results = pg_malloc(standbys->n * sizeof(PGresult *));

	for (int i = 0; i < standbys->n; i++)
	{
		const Standby *standby = &standbys->list[i];

		results[i] = ask(standbys, standby);
		check_one(standbys, standby, results[i]);
		if (i > 0)
			check_against(standbys, standby, results[i], results[0]);
		check_once(standbys, results, i);
	}
}

/* ----------
 * The extension
 * ----------
 */
void
standby_check_extension(const Standbys *standbys,
						const ServerExtension *extension)
{
	for (int i = 1; i < standbys->n && extension->missing == NULL; i++)
	{
		const Standby *standby = &standbys->list[i];
		const ServerExtension *there =
			server_extension_find(standby->conn, standbys->options,
								  EXTENSION_READS);

		if (there->missing)
		{
			pg_log_error("could not use the extension on standby \"%s\"",
						 standby->name);
			pg_log_error_detail("%s", message_sentence(there->missing));
			pg_log_error_detail("The extension can be used on \"%s\".",
								standbys->list[0].name);
			pg_fatal_hint("If the standby has not replayed the latest changes, run the same command again later.  Otherwise, use --no-extension.");
		}
	}
}

/*
 * A call of any function makes the server load the library, which may be
 * missing on the standby, because replay does not copy files.
 */
static const char library_query[] =
"SELECT " PARDUMP_RAW_REASON "('pg_catalog.pg_class'::pg_catalog.regclass, false)";

void
standby_check_library(const Standby *standby)
{
	PGresult   *res = session_exec(standby->conn, library_query);

	if (session_refused(standby->conn, res, library_query))
	{
		pg_log_error("could not use the extension on standby \"%s\": %s",
					 standby->name, PQerrorMessage(standby->conn));
		pg_fatal_hint("Install the extension on the standby, too, or use --no-extension.");
	}
}

void
standby_hold_extension(const Standbys *standbys,
					   const ServerExtension *extension, int wait_ms)
{
	for (int i = 1; i < standbys->n && extension->missing == NULL; i++)
	{
		interrupt_set_connection(standbys->list[i].conn);
		server_extension_hold_too(standbys->list[i].conn, extension, wait_ms);
		standby_check_library(&standbys->list[i]);
	}
	interrupt_set_connection(standbys->list[0].conn);
}

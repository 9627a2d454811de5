/*
 * standby_check.c
 *		Looks whether several servers can be read as one.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "base/message.h"
#include "previous/fingerprint_spec.h"
#include "session/session_loss.h"
#include "standby/standby_check.h"

/* pg_get_wal_replay_pause_state() came with 14. */
#define MIN_VERSION 150000

/* What must be the same, or true, in this order. */
enum Column
{
	COL_IN_RECOVERY,
	COL_SYSTEM_IDENTIFIER,
	COL_DATABASE,
	COL_ROLES,
	COL_LC_MONETARY,
	COL_XML_BINARY,
	COL_STARTED,				/* two servers do not start as one */
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
ask(const Standby *standby)
{
	PGresult   *res;

	if (PQserverVersion(standby->conn) < MIN_VERSION)
		pg_fatal("server %s is of version %s: %s needs 15 or newer",
				 standby->name,
				 PQparameterStatus(standby->conn, "server_version"), "--also-from");
	res = session_query(standby->conn, check_query);
	if (PQntuples(res) != 1)
		pg_fatal("server %s does not tell what it is", standby->name);
	return res;
}

static bool
is_true(const PGresult *res, enum Column column)
{
	return PQgetvalue(res, 0, column)[0] == 't';
}

/* What each of them must be by itself. */
static void
check_one(const Standbys *standbys, const Standby *standby,
		  const PGresult *res)
{
	if (!is_true(res, COL_IN_RECOVERY))
	{
		pg_log_error("server %s is not a standby, as %s requires of all servers",
					 standby->name, "--also-from");
		pg_log_error_detail("What a snapshot of a primary sees belongs to no one place in its log at which a standby could stop.");
		pg_log_error_hint("Read from standbys only: name one of them in the place of the primary.");
		return;
	}
	if (!is_true(res, COL_MAY_PAUSE))
	{
		pg_log_error("the user may not pause the replay of standby %s",
					 standby->name);
		pg_log_error_hint("On the primary, in this database: GRANT EXECUTE ON FUNCTION pg_wal_replay_pause(), pg_wal_replay_resume() TO the user.");
	}
	if (!is_true(res, COL_SEES_TIMELINE))
	{
		pg_log_error("the role may not see which timeline standby %s follows",
					 standby->name);
		pg_log_error_hint("On the primary: GRANT pg_read_all_stats TO the role.");
	}
	if (is_true(res, COL_IS_WAITED_FOR) && !standbys->options->pause_synchronous)
	{
		pg_log_error("commits on the primary may wait for standby %s to replay them",
					 standby->name);
		pg_log_error_detail("Its synchronous_standby_names is not empty, and synchronous_commit is remote_apply, here or for a role or database.");
		pg_log_error_hint("--pause-synchronous pauses its replay all the same, for about a tenth of a second, at worst five.");
	}
}

static void
check_same(const Standby *standby, const Standby *first, const char *what,
		   const char *its, const char *firsts)
{
	if (strcmp(its, firsts) == 0)
		return;
	pg_log_error("%s of standby %s is not that of %s", what, standby->name,
				 first->name);
	pg_log_error_detail("They are \"%s\" and \"%s\".", printable(pg_strdup(its)),
						printable(pg_strdup(firsts)));
}

static void
check_against(const Standbys *standbys, const Standby *standby,
			  const PGresult *res, const PGresult *firsts)
{
	static const char *const names[] = {
		NULL, "the system identifier", "the database", "the role",
		"lc_monetary", "xmlbinary"
	};
	const Standby *first = &standbys->list[0];
	char	   *settings = fingerprint_settings(standby->conn);
	char	   *first_settings = fingerprint_settings(first->conn);

	for (enum Column i = COL_SYSTEM_IDENTIFIER; i <= COL_XML_BINARY; i++)
		check_same(standby, first, names[i], PQgetvalue(res, 0, i),
				   PQgetvalue(firsts, 0, i));
	check_same(standby, first, "a setting", settings, first_settings);
	free(settings);
	free(first_settings);
}

/* Named twice it would be read with no gain. */
static void
check_once(const Standbys *standbys, PGresult *const *results, int no)
{
	for (int i = 0; i < no; i++)
	{
		if (strcmp(PQgetvalue(results[i], 0, COL_STARTED),
				   PQgetvalue(results[no], 0, COL_STARTED)) != 0)
			continue;
		pg_log_error("%s and %s are the same server", standbys->list[i].name,
					 standbys->list[no].name);
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

		results[i] = ask(standby);
		check_one(standbys, standby, results[i]);
		if (i > 0)
			check_against(standbys, standby, results[i], results[0]);
		check_once(standbys, results, i);
	}
	for (int i = 0; i < standbys->n; i++)
		PQclear(results[i]);
	free(results);
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
			pg_log_error("the extension cannot be used on standby %s: %s",
						 standby->name, there->missing);
			pg_log_error_hint("It can on %s.  Run it again, or use --no-extension.",
							  standbys->list[0].name);
			exit(1);
		}
	}
}

/* Any of its functions makes the server load the library. */
static const char library_query[] =
"SELECT " PARDUMP_RAW_REASON "('pg_catalog.pg_class'::pg_catalog.regclass, false)";

void
standby_check_library(const Standby *standby)
{
	PGresult   *res = session_exec(standby->conn, library_query);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
	{
		if (session_is_lost(standby->conn, res))
			session_failed(standby->conn, res, "query failed", library_query);
		pg_log_error("the extension does not work on standby %s: %s",
					 standby->name, PQerrorMessage(standby->conn));
		pg_log_error_hint("Install it there, too, or use --no-extension.");
		exit(1);
	}
	PQclear(res);
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

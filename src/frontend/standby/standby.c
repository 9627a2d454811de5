/*
 * standby.c
 *		The leader's sessions on further standbys.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "base/message.h"
#include "session/session_loss.h"
#include "session/session_settings.h"
#include "standby/standby.h"

/*
 * As long as the source's own: no other takes its place either
 * (leader_session.c).
 */
#define ANSWER_MS 120000

/* Has a connection string this option? */
static bool
has_option(const PQconninfoOption *options, const char *keyword)
{
	for (; options->keyword; options++)
		if (strcmp(options->keyword, keyword) == 0)
			return options->val != NULL;
	return false;
}

/*
 * What libpq has to say of a wrong string would quote it, and it may have a
 * password.
 */
static PGconn *
connect_to(const Options *options, const char *conninfo, PGconn *first)
{
	ConnParams	params = {.prompt_password = options->connection.prompt_password};
	PQconninfoOption *parsed = PQconninfoParse(conninfo, NULL);

	if (parsed == NULL)
	{
		pg_log_error("invalid connection string for option %s", "--also-from");
		pg_log_error_hint("It is as for psql, e.g. \"host=standby2 port=5432\".");
		exit(1);
	}
	params.dbname = unconstify(char *, conninfo);
	/* what the string has comes after this, and counts */
	params.pguser = PQuser(first);
	if (!has_option(parsed, "dbname") && !has_option(parsed, "service"))
		params.override_dbname = PQdb(first);
	PQconninfoFree(parsed);
	return connection_open_params(&params, options->password_command, "pg_pardump");
}

static void
set_up_standby(Standby *standby, PGconn *conn, const PeerAddress *address)
{
	standby->conn = conn;
	standby->address = address;
	standby->name = pg_strdup(printable(psprintf("%s:%s", PQhost(conn),
												 PQport(conn))));
}

Standbys *
standby_open(const Options *options, PGconn *first,
			 const PeerAddress *address)
{
	Standbys   *standbys = pg_malloc0(sizeof(Standbys));

	standbys->options = options;
	standbys->n = 1;
	for (const SimpleStringListCell *cell = options->also_from.head; cell;
		 cell = cell->next)
		standbys->n++;
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

/* A PQnoticeReceiver: the error by which the server ends the session. */
static void
receive_notice(void *arg, const PGresult *res)
{
	Standby    *standby = arg;
	const char *severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);

	if (severity == NULL || strcmp(severity, "FATAL") != 0)
	{
		connection_show_notice(NULL, PQresultErrorMessage(res));
		return;
	}
	free(standby->last_words);
	standby->last_words = session_error_words(standby->conn, res);
}

/* The number that a backend has may be another one's later. */
static const char holder_format[] =
SESSION_FRESH_ACTIVITY "SELECT 1 FROM pg_catalog.pg_stat_get_activity(%s) a"
" WHERE a.backend_xmin IS NOT NULL"
" AND pg_catalog.date_part('epoch', a.backend_start)::pg_catalog.text"
" OPERATOR(pg_catalog.=) '%s'";

void
standby_watch(Standby *standby)
{
	PGresult   *res = session_query(standby->conn,
									"SELECT a.pid, pg_catalog.date_part('epoch', a.backend_start)"
									" FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) a");

	if (PQntuples(res) != 1)
		pg_fatal("standby %s does not tell of its session", standby->name);
	standby->holder_query = psprintf(holder_format, PQgetvalue(res, 0, 0),
									 PQgetvalue(res, 0, 1));
	PQclear(res);
	PQsetNoticeReceiver(standby->conn, receive_notice, standby);
}

static void
was_lost(Standby *standby)
{
	const char *words = standby->last_words ? standby->last_words :
		PQerrorMessage(standby->conn);

	interrupt_check();
	pg_log_warning("standby %s is lost; others read what is left of its jobs",
				   standby->name);
	pg_log_warning_detail("%s", *words ? words : "The server does not answer.");
	PQfinish(standby->conn);
	standby->conn = NULL;
}

void
standby_keep(Standbys *standbys)
{
	for (int i = 1; i < standbys->n; i++)
	{
		Standby    *standby = &standbys->list[i];
		bool		alive;

		if (standby->conn == NULL)
			continue;
		alive = PQconsumeInput(standby->conn) != 0;
		/* makes libpq read why the server is ending the session */
		PQfreemem(PQnotifies(standby->conn));
		if (!alive || standby->last_words ||
			PQstatus(standby->conn) != CONNECTION_OK)
			was_lost(standby);
	}
}

bool
standby_is_there(const Standby *standby)
{
	return standby->conn != NULL;
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
standby_has_snapshot(const Standby *standby, PGconn *conn)
{
	bool		lost;
	PGresult   *res = session_look(conn, standby->holder_query, ANSWER_MS,
								   &lost);
	bool		result = !lost && PQresultStatus(res) == PGRES_TUPLES_OK &&
		PQntuples(res) == 1;

	PQclear(res);
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

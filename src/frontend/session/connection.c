/*
 * connection.c
 *		Opens connections to the server.
 */
#include "base/fe_compat.h"

#include "common/string.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/message.h"
#include "base/units.h"
#include "password/password_command.h"
#include "password/typed_password.h"
#include "process/this_program.h"
#include "session/connection.h"
#include "session/session_loss.h"
#include "session/session_wait.h"
#include "session/tcp_setting.h"

/* to_regclass(text) came with 9.6, lo_get() and ROWS FROM with 9.4. */
#define MIN_SERVER_VERSION 90600

/* How often to look for a pooler (session_probe); the process's. */
static int	n_probes = 3;

/* How long a new session may be silent, or 0; the process's. */
static int	silence_s = CONNECTION_SILENCE_S;

void
connection_show_notice(void *arg, const char *message)
{
	char	   *text;

	if (session_withholds())
		return;
	text = pg_strdup(message);
	(void) pg_strip_crlf(text);
	message_before_output();
	fprintf(stderr, "%s: %s\n", this_program_name(), printable_message(text));
	free(text);
}

/* For the workers and pg_dump, too, which find it there. */
static void
limit_attempt(void)
{
	setenv("PGCONNECT_TIMEOUT", CppAsString2(CONNECTION_ATTEMPT_S), 0);
}

/* Bring it in the state that all of ours have. */
static PGconn *
prepare(PGconn *conn)
{
	tcp_setting_apply(conn);
	if (PQserverVersion(conn) < MIN_SERVER_VERSION)
	{
		pg_log_error("the server is of version %s, which is too old",
					 PQparameterStatus(conn, "server_version"));
		pg_log_error_hint("Use pg_dump for servers before 9.6.");
		exit(1);
	}
	interrupt_set_connection(conn);
	return conn;
}

/* What the keyword "dbname" has may be a connection string. */
static PGconn *
connect_by(const char *const *keywords, const char *const *values)
{
	PGconn	   *conn;

	message_guard_begin();
	conn = PQconnectdbParams(keywords, values, true);
	message_guard_end();
	PQsetNoticeProcessor(conn, connection_show_notice, NULL);
	return conn;
}

/*
 * Keywords and their order are connectDatabase()'s.  The password that a
 * command printed comes after dbname, which may be a connection string with
 * another password.
 */
static PGconn *
connect_as(const ConnParams *params, const char *typed, const char *printed,
		   const char *progname)
{
	/* libpq ignores what is NULL, and the last of two values counts */
	const char *keywords[] = {"host", "port", "user", "password", "dbname",
	"password", "dbname", "fallback_application_name", NULL};
	const char *values[] = {params->pghost, params->pgport, params->pguser,
		typed, params->dbname, printed, params->override_dbname, progname,
	NULL};

	limit_attempt();
	return connect_by(keywords, values);
}

void
connection_set_probes(int n)
{
	n_probes = n;
}

void
connection_set_stall_timeout(uint64 seconds)
{
	silence_s = (int) seconds;
}

/*
 * A SessionWaitWatch for the first statements of a session, which take no
 * time: the leader's watchdog does not know the session yet.
 */
static void
watch_new_session(PGconn *conn, bool came, int64 *since)
{
	int64		now = clock_monotonic_ms();

	if (came)
		*since = now;
	else if (silence_s > 0 && now >= *since + (int64) silence_s * 1000)
	{
		pg_log_error("the server at \"%s\", port %s, has not answered for %d second%s",
					 printable(PQhost(conn)), PQport(conn), silence_s,
					 units_plural(silence_s));
		pg_log_error_detail("The connection was made, and its first statement got no answer.");
		exit(1);
	}
}

/*
 * Another connection to the server that was reached, which may be one of
 * several of the name.  The password is the same.  libpq takes the first
 * dbname for a connection string if it looks like one: the name of a database
 * from the environment, which does not, must not be the first.
 */
static PGconn *
connect_once_more(PGconn *conn, const ConnParams *params, const char *progname)
{
	const char *hostaddr = PQhostaddr(conn);
	char	   *name = psprintf("%s probe", progname);
	const char *keywords[] = {"dbname", "user", "password", "dbname", "host",
	"hostaddr", "port", "fallback_application_name", NULL};
	const char *values[] = {params->dbname ? params->dbname : "dbname=''",
		PQuser(conn), PQpass(conn), PQdb(conn), PQhost(conn),
	hostaddr && *hostaddr ? hostaddr : NULL, PQport(conn), name, NULL};
	PGconn	   *result = connect_by(keywords, values);

	free(name);
	return result;
}

/*
 * Look for a pooler before anything is set in a session, and before programs
 * are run whose sessions have no marker.  Without a second connection
 * nothing is known; the run, which needs more than one, tells why.
 */
static void
probe(PGconn *conn, const ConnParams *params, const char *progname)
{
	PGconn	   *other = connect_once_more(conn, params, progname);

	if (PQstatus(other) != CONNECTION_OK)
	{
		pg_log_info("a second connection failed: %s", PQerrorMessage(other));
		PQfinish(other);
		return;
	}
	if (!session_probe(conn, other, n_probes))
	{
		pg_log_warning("a second connection to the server was not answered in time");
		pg_log_warning_hint("If a pooler is in between, its pool may have too few sessions.");
	}
	/* the run's other sessions may need its place */
	session_close_and_wait(other);
}

/*
 * Unlike connectDatabase(), which asks again as long as the answer is empty,
 * and so for ever where no user can answer.
 */
PGconn *
connection_ask(const ConnParams *params, const char *password_command,
			   const char *progname)
{
	const char *printed = password_command_first(password_command);
	const char *typed = printed ? NULL : typed_password_find(params);
	PGconn	   *conn;

	if (printed == NULL && typed == NULL &&
		params->prompt_password == TRI_YES)
		typed = typed_password_ask(params);
	conn = connect_as(params, typed, printed, progname);
	if (PQstatus(conn) != CONNECTION_OK && PQconnectionNeedsPassword(conn) &&
		printed == NULL && typed == NULL &&
		params->prompt_password == TRI_DEFAULT)
	{
		typed = typed_password_ask(params);
		if (typed && typed[0] != '\0')
		{
			PQfinish(conn);
			conn = connect_as(params, typed, NULL, progname);
		}
	}
	if (PQstatus(conn) != CONNECTION_OK)
		interrupt_check();
	else if (PQserverVersion(conn) >= MIN_SERVER_VERSION)
	{
		SessionWaitWatch before = session_wait_set_watch(watch_new_session);

		probe(conn, params, progname);
		session_command_settings(conn, SESSION_SET("search_path", ""));
		(void) session_wait_set_watch(before);
	}
	return conn;
}

void
connection_report_failure(const PGconn *conn)
{
	pg_log_error("%s", PQerrorMessage(conn));
	if (PQconnectionNeedsPassword(conn))
		pg_log_error_hint("Put the password into a password file (~/.pgpass, or the file that PGPASSFILE names), or use -W to type it.");
}

static PGconn *
require(PGconn *conn)
{
	if (PQstatus(conn) == CONNECTION_OK)
		return conn;
	connection_report_failure(conn);
	PQfinish(conn);
	exit(1);
}

PGconn *
connection_open_params(const ConnParams *params, const char *password_command,
					   const char *progname)
{
	return prepare(require(connection_ask(params, password_command,
										  progname)));
}

/*
 * As connectMaintenanceDatabase() does without a name, but with a string.
 * Another database does not help if there is no password.
 */
PGconn *
connection_open_maintenance(const ConnParams *params,
							const char *password_command,
							const char *progname)
{
	ConnParams	attempt = *params;
	PGconn	   *conn;

	attempt.override_dbname = "postgres";
	conn = connection_ask(&attempt, password_command, progname);
	if (PQstatus(conn) != CONNECTION_OK && !PQconnectionNeedsPassword(conn))
	{
		PQfinish(conn);
		attempt.override_dbname = "template1";
		conn = connection_ask(&attempt, password_command, progname);
	}
	return prepare(require(conn));
}

PGconn *
connection_open_leader(const Options *options, const char *progname)
{
	return connection_open_params(&options->connection,
								  options->password_command, progname);
}

/*
 * The last connection that was not tried, as the password command failed, and
 * why.
 */
static const PGconn *untried;
static char *untried_words;

/* libpq makes no connection to this port. */
static PGconn *
leave_untried(const char *failure)
{
	PGconn	   *conn = PQconnectStart("port=0");

	if (conn == NULL)
		pg_fatal("out of memory");
	free(untried_words);
	untried_words = psprintf("%s\n", failure);
	untried = conn;
	return conn;
}

const char *
connection_words(const PGconn *conn)
{
	return conn == untried ? untried_words : PQerrorMessage(conn);
}

/* replication may be NULL */
static PGconn *
try_connect(const PeerAddress *address, const char *replication,
			const char *progname)
{
	const char *failure;
	const char *password = address->command ?
		password_command_run(address->command, &failure) : address->password;
	const char *keywords[] = {"password", "dbname", "replication",
	"fallback_application_name", NULL};
	const char *values[] = {password, address->private_conninfo,
	replication, progname, NULL};
	PGconn	   *conn;

	if (address->command && password == NULL)
		return leave_untried(failure);
	untried = NULL;
	limit_attempt();
	session_wait_begins();
	conn = connect_by(keywords, values);
	session_wait_ends();
	return conn;
}

PGconn *
connection_try_peer(const PeerAddress *address, const char *progname)
{
	return try_connect(address, NULL, progname);
}

PGconn *
connection_try_replication(const PeerAddress *address, const char *progname)
{
	return try_connect(address, "database", progname);
}

PGconn *
connection_open_peer(const PeerAddress *address, const char *progname)
{
	PGconn	   *conn = connection_try_peer(address, progname);

	/* a server that accepted one connection may accept another one later */
	if (PQstatus(conn) != CONNECTION_OK)
	{
		interrupt_check();
		session_lost(connection_words(conn));
	}
	interrupt_set_connection(conn);
	return conn;
}

bool
connection_is_unix_socket(const PGconn *conn)
{
	const char *address = PQhostaddr(conn);

	return address == NULL || address[0] == '\0';
}

bool
connection_is_local(const PGconn *conn)
{
	const char *address = PQhostaddr(conn);

	return connection_is_unix_socket(conn) ||
		strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/*
 * connection.c
 *		Opens connections, and describes their servers so that other processes
 *		can reach the same servers.
 *
 * The first connection is made with the user's options.  From it, the leader
 * makes a PeerAddress, with which workers, pg_dump and pg_restore connect to
 * the same server.  It contains the address that was reached, because a host
 * name may stand for several servers.
 */
#include "base/fe_compat.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "common/string.h"
#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/identifier.h"
#include "base/interrupt.h"
#include "process/this_program.h"
#include "session/connection.h"
#include "session/session_lost.h"

/* ----------
 * TCP settings with which the system notices that the other end has vanished.
 * ----------
 */

#define TCP_USER_TIMEOUT_MS (90 * 1000)

typedef struct TcpSetting
{
	const char *keyword;
	int			option;
	int			value;
} TcpSetting;

static const TcpSetting tcp_settings[] = {
	{"keepalives_idle", TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
	{"keepalives_interval", TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
	{"keepalives_count", TCP_KEEPCNT, KEEPALIVE_COUNT},
	{"tcp_user_timeout", TCP_USER_TIMEOUT, TCP_USER_TIMEOUT_MS},
	{NULL}
};

/*
 * Apply the settings to an open connection.  A system that refuses a setting
 * is not an error: without the setting, a lost connection is only noticed
 * later.
 */
static void
tcp_setting_apply(PGconn *conn)
{
	PQconninfoOption *options = PQconninfo(conn);

	if (options == NULL || connection_is_unix_socket(conn))
		return;
	for (const TcpSetting *setting = tcp_settings; setting->keyword; setting++)
		if (conninfo_value(options, setting->keyword) == NULL)
			(void) setsockopt(PQsocket(conn), IPPROTO_TCP, setting->option,
							  &setting->value, sizeof(setting->value));
	PQconninfoFree(options);
}

/*
 * Returns the same settings for a connection that will be made with these
 * options, as " keyword=value ..." for its connection string; the caller owns
 * it.  libpq ignores them for Unix-domain sockets.  A session that loads rows
 * does not read from its socket while it waits for a lock or for its disk.
 * On Linux, tcp_user_timeout would end such a connection, so it is left out
 * if takes_rows is true.
 */
static char *
tcp_setting_conninfo(const PQconninfoOption *options, bool takes_rows)
{
	PQExpBufferData buf = buffer_new();

	for (const TcpSetting *setting = tcp_settings; setting->keyword; setting++)
		if (conninfo_value(options, setting->keyword) == NULL &&
			!(takes_rows && strcmp(setting->keyword, "tcp_user_timeout") == 0))
			appendPQExpBuffer(&buf, " %s=%d", setting->keyword, setting->value);
	return buf.data;
}

/* ----------
 * Describes the server of a connection, so that other sessions can reach the
 * same server.
 * ----------
 */

/*
 * Options that have already determined the server and the database, and
 * options that each session sets itself.
 */
static const char *const settled[] = {
	"dbname", "user", "host", "hostaddr", "port", "target_session_attrs",
	"load_balance_hosts", "service", "servicefile", "fallback_application_name",
	"replication", NULL
};

/*
 * Do the environment or libpq's defaults give this option the same value?
 * Then it can be left out: other processes find the value, too, and a pg_dump
 * with an older libpq does not get an option that it may not know.
 */
static bool
is_default(const PQconninfoOption *option, const PQconninfoOption *defaults)
{
	for (; defaults->keyword; defaults++)
		if (strcmp(defaults->keyword, option->keyword) == 0)
			return strcmp(defaults->val ? defaults->val : "", option->val) == 0;
	return false;
}

/*
 * Must the option be kept out of argument lists and logs?  libpq marks
 * passwords with "*", but does not mark the SCRAM keys.
 */
static bool
is_secret(const PQconninfoOption *option)
{
	return strchr(option->dispchar, '*') != NULL ||
		strncmp(option->keyword, "scram_", 6) == 0;
}

/* ----------
 * The password
 *
 * libpq reports as "password" a password that was typed, or that it found in
 * the connection string, in a service file or in PGPASSWORD.  It does not
 * report a password from a passfile.  Only a password that was typed or is in
 * the string must be kept.  libpq reads the others again for each connection,
 * because they may have changed.
 * ----------
 */
static char *
copy_variable(const char *name)
{
	const char *value = getenv(name);

	return value ? pg_strdup(value) : NULL;
}

/*
 * libpq's defaults for a connection if the environment names this service and
 * this service file.  If service is NULL there is no service; if file is
 * NULL, PGSERVICEFILE stays as it is.
 */
static PQconninfoOption *
defaults_of_service(const char *service, const char *file)
{
	char	   *old_service = copy_variable("PGSERVICE");
	char	   *old_file = copy_variable("PGSERVICEFILE");
	PQconninfoOption *options;

	environment_set("PGSERVICE", service);
	if (file)
		environment_set("PGSERVICEFILE", file);
	options = PQconndefaults();
	/* restore the environment also if this failed */
	environment_set("PGSERVICE", old_service);
	environment_set("PGSERVICEFILE", old_file);
	if (options == NULL)
		pg_fatal("out of memory");
	return options;
}

/*
 * The part of a connection string that names the service with this password,
 * so that libpq reads the password again for each connection.  NULL if there
 * is no service, or its password differs.  The service is read from the given
 * string, because before 18 a connection does not report its service.
 */
static char *
find_service(const char *given, const char *password)
{
	/* A text that is not a connection string is the name of a database. */
	PQconninfoOption *options = identifier_is_conninfo(given) ?
		PQconninfoParse(given, NULL) : NULL;
	const char *service = options ? conninfo_value(options, "service") : NULL;
	const char *file = options ? conninfo_value(options, "servicefile") : NULL;
	PQconninfoOption *its = service ? defaults_of_service(service, file) : NULL;
	const char *its_own = its ? conninfo_value(its, "password") : NULL;
	PQExpBufferData buf = buffer_new();

	if (its_own == NULL || strcmp(its_own, password) != 0)
		return NULL;
	conninfo_append(&buf, "service", service);
	if (file)
		conninfo_append(&buf, "servicefile", file);

	/*
	 * The service may require another kind of server than the one that was
	 * reached.
	 */
	conninfo_append(&buf, "target_session_attrs", "any");
	return psprintf(" %s", buffer_text(&buf));
}

/*
 * Keep the password if libpq will not find it again by itself.  A program can
 * use only one service.  If it uses ours, which contains other secrets, the
 * password from the user's service is kept like one that was typed.
 */
static void
note_password(PeerAddress *address, const PQconninfoOption *options,
			  const PQconninfoOption *defaults, const char *given)
{
	const char *password = conninfo_value(options, "password");
	const char *inherited = conninfo_value(defaults, "password");

	if (address->command || password == NULL)
		return;
	if (address->secrets.service == NULL)
	{
		if (inherited && strcmp(inherited, password) == 0)
			return;
		address->service = find_service(given, password);
	}
	if (address->service == NULL)
		address->password = pg_strdup(password);
}

/* Write the password to a file that programs read as their passfile. */
static void
note_password_file(PeerAddress *address)
{
	if (address->command)
		address->secrets.password_file = password_command_file(address->command);
	else if (address->password)
		address->secrets.password_file = password_file_new(address->password);
	else
		return;

	/*
	 * libpq prefers the password of the service that PGSERVICE names, so
	 * programs get an empty service of ours instead.
	 */
	if (address->secrets.service == NULL && getenv("PGSERVICE"))
		address->secrets.service = pg_strdup("[" CHILD_SERVICE "]\n");
}

/* ----------
 * The address
 * ----------
 */

/*
 * The secrets that other processes will not find by themselves, such as
 * sslpassword, as the text of a service file; NULL if there are none.  The
 * password is not among them, because it gets a file of its own.
 */
static char *
secrets_service(const PQconninfoOption *options,
				const PQconninfoOption *defaults)
{
	PQExpBufferData buf = buffer_new();
	bool		any = false;

	appendPQExpBufferStr(&buf, "[" CHILD_SERVICE "]\n");
	for (; options->keyword; options++)
	{
		if (options->val == NULL || !is_secret(options) ||
			strcmp(options->keyword, "password") == 0 ||
			is_default(options, defaults))
			continue;
		if (strchr(options->val, '\n') != NULL)
			pg_fatal("connection option \"%s\" contains a newline",
					 options->keyword);
		appendPQExpBuffer(&buf, "%s=%s\n", options->keyword, options->val);
		any = true;
	}
	return any ? buf.data : NULL;
}

/*
 * Append all options that are not settled: secrets to private_buf, unless
 * that is NULL, and the others to buf.
 */
static void
append_options(bool has_password_file, const PQconninfoOption *options,
			   const PQconninfoOption *defaults, PQExpBuffer buf,
			   PQExpBuffer private_buf)
{
	for (const PQconninfoOption *option = options; option->keyword; option++)
	{
		if (option->val == NULL || conninfo_is_one_of(option->keyword, settled) ||
			strcmp(option->keyword, "password") == 0)
			continue;

		/*
		 * libpq would use it instead of the passfile that programs are given.
		 */
		if (has_password_file && strcmp(option->keyword, "passfile") == 0)
			continue;
		if (is_secret(option))
		{
			if (private_buf)
				conninfo_append(private_buf, option->keyword, option->val);
		}
		else if (!is_default(option, defaults))
			conninfo_append(buf, option->keyword, option->val);
	}
}

/*
 * Describe the server to programs whose service file the caller writes.  Such
 * a program cannot use the user's service at the same time, so the result
 * contains the values of that service.  buf contains the beginning of the
 * connection string: host, port and so on.
 */
static void
note_own_service(PeerAddress *address, const PQconninfoOption *options,
				 const PQconninfoOption *bare, PQExpBuffer buf)
{
	const char *password = conninfo_value(options, "password");
	const char *inherited = conninfo_value(bare, "password");

	if (address->secrets.password_file == 0 && password &&
		!(inherited && strcmp(inherited, password) == 0))
		address->own_password = pg_strdup(password);
	append_options(address->secrets.password_file || address->own_password,
				   options, bare, buf, NULL);
	address->own_conninfo = psprintf("%s%s", buf->data, address->tcp_settings);
	address->own_service = secrets_service(options, bare);
	if (address->own_service == NULL)
		address->own_service = pg_strdup("[" CHILD_SERVICE "]\n");
}

PeerAddress *
peer_address_new(PGconn *conn, bool takes_rows, const char *given,
				 const char *password_command)
{
	PeerAddress *address = pg_malloc0(sizeof(PeerAddress));
	PQconninfoOption *options = PQconninfo(conn);
	PQconninfoOption *defaults = PQconndefaults();

	/* the defaults of programs that do not use the user's service */
	PQconninfoOption *bare = defaults_of_service(NULL, NULL);
	PQExpBufferData buf = buffer_new();
	PQExpBufferData own_buf = buffer_new();
	PQExpBufferData private_buf = buffer_new();
	const char *host = PQhost(conn);

	if (options == NULL || defaults == NULL)
		pg_fatal("out of memory");

	/*
	 * The order matters: whether there is a service for secrets decides what
	 * has to be done about the password, and whether there is a file with the
	 * password decides which other options programs are given.
	 */
	address->command = password_command_get(password_command);
	address->secrets.service = secrets_service(options, defaults);
	note_password(address, options, defaults, given);
	note_password_file(address);
	conninfo_append(&buf, "dbname", PQdb(conn));
	conninfo_append(&buf, "user", PQuser(conn));

	/*
	 * The address is kept so that the name need not lead to the same server
	 * again.  The name is kept too: libpq compares it with the certificate,
	 * and looks it up in passfiles.
	 */
	conninfo_append(&buf, "host", host ? host : "");
	if (!connection_is_unix_socket(conn))
		conninfo_append(&buf, "hostaddr", PQhostaddr(conn));
	conninfo_append(&buf, "port", PQport(conn));
	appendPQExpBufferStr(&own_buf, buf.data);
	/* Our service replaces a service that the environment names. */
	append_options(address->secrets.password_file != 0, options,
				   address->secrets.service ? bare : defaults,
				   &buf, &private_buf);
	address->tcp_settings = tcp_setting_conninfo(options, takes_rows);
	note_own_service(address, options, bare, &own_buf);

	address->conninfo = buf.data;
	address->private_conninfo = psprintf("%s %s%s%s", buf.data, private_buf.data,
										 address->tcp_settings,
										 address->service ? address->service : "");
	return address;
}

char *
peer_address_for_program(const PeerAddress *address)
{
	return psprintf("%s%s%s", address->conninfo, address->tcp_settings,
					address->service ? address->service : "");
}

const ChildSecrets *
peer_address_secrets(const PeerAddress *address)
{
	const char *failure;

	if (address->command &&
		password_command_run(address->command, &failure) == NULL)
		pg_log_warning("%s", failure);
	return &address->secrets;
}

char *
peer_address_for_own_service(const PeerAddress *address, ChildSecrets *secrets)
{
	*secrets = *peer_address_secrets(address);
	secrets->service = address->own_service;
	if (address->own_password)
		secrets->password_file = password_file_new(address->own_password);
	return pg_strdup(address->own_conninfo);
}

/* ----------
 * The number of further connections that the limits of a server allow.
 * ----------
 */

/* PostgreSQL 10 added pg_stat_activity.backend_type. */
#define MIN_VERSION_WITH_BACKEND_TYPE 100000

/*
 * The smallest number of connections that these limits leave: max_connections
 * less the reserved connections (miscinit.c:InitPostgres), the role's limit,
 * and, if %s is true, the database's.  There are two numbers.  The first
 * counts the sessions that are certainly clients.  The second also counts
 * sessions whose kind the role may not see, but which have a user and a
 * database, because most of these are clients.  The third number is the limit
 * to which the first one belongs.
 */
static const char left_expression[] =
"(WITH reserved (n) AS (SELECT COALESCE(pg_catalog.sum(s.setting::pg_catalog.int4), 0)"
" FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) 'superuser_reserved_connections'"
" OR s.name OPERATOR(pg_catalog.=) 'reserved_connections' AND NOT EXISTS"
" (SELECT FROM pg_catalog.pg_roles p"
" WHERE p.rolname OPERATOR(pg_catalog.=) 'pg_use_reserved_connections'"
" AND pg_catalog.pg_has_role(session_user, p.oid, 'USAGE')))"
" SELECT pg_catalog.array_append("
"pg_catalog.array_agg(LEAST(l.of_server, l.of_role, l.of_database) ORDER BY hidden.counted),"
" pg_catalog.min(CASE"
" WHEN l.of_role OPERATOR(pg_catalog.<=) LEAST(l.of_server, l.of_database) THEN 1::pg_catalog.int8"
" WHEN l.of_database OPERATOR(pg_catalog.<=) l.of_server THEN 2 ELSE 0 END)"
" FILTER (WHERE NOT hidden.counted))"
" FROM pg_catalog.pg_roles r, pg_catalog.pg_database d,"
" (VALUES (false), (true)) hidden (counted), LATERAL (SELECT pg_catalog.count(*) AS n,"
" pg_catalog.count(*) FILTER (WHERE a.usename OPERATOR(pg_catalog.=) r.rolname) AS of_role,"
" pg_catalog.count(*) FILTER (WHERE a.datname OPERATOR(pg_catalog.=) d.datname) AS of_database"
" FROM pg_catalog.pg_stat_activity a"
" WHERE a.backend_type OPERATOR(pg_catalog.=) 'client backend' OR hidden.counted"
" AND a.backend_type IS NULL AND a.usename IS NOT NULL AND a.datname IS NOT NULL) used,"
" LATERAL (SELECT pg_catalog.current_setting('max_connections')::pg_catalog.int4"
" OPERATOR(pg_catalog.-) CASE WHEN r.rolsuper THEN 0 ELSE (SELECT n FROM reserved) END"
" OPERATOR(pg_catalog.-) used.n AS of_server,"
" CASE WHEN r.rolconnlimit OPERATOR(pg_catalog.>=) 0 AND NOT r.rolsuper"
" THEN r.rolconnlimit OPERATOR(pg_catalog.-) used.of_role END AS of_role,"
" CASE WHEN %s AND d.datconnlimit OPERATOR(pg_catalog.>=) 0 AND NOT r.rolsuper"
" THEN d.datconnlimit OPERATOR(pg_catalog.-) used.of_database END AS of_database) l"
" WHERE r.rolname OPERATOR(pg_catalog.=) session_user"
" AND d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())";

char *
connection_limit_expression(PGconn *conn, bool of_database)
{
	if (PQserverVersion(conn) < MIN_VERSION_WITH_BACKEND_TYPE)
		return pg_strdup("NULL");
	return psprintf(left_expression, of_database ? "true" : "false");
}

/*
 * If the role was dropped meanwhile, the array has a single element, NULL: no
 * limit is known.
 */
ConnectionsLeft
connection_limit_read(const PGresult *res, int column)
{
	ConnectionsLeft left = {PG_INT32_MAX, PG_INT32_MAX};
	int			n = 0;
	int64	   *numbers;

	if (PQgetisnull(res, 0, column))
		return left;
	numbers = session_numbers(res, column, &n);
	if (numbers && n == 3)
	{
		left.at_most = (int) Min(Max(numbers[0], 0), PG_INT32_MAX);
		left.at_least = (int) Min(Max(numbers[1], 0), PG_INT32_MAX);
		left.limit = (int) numbers[2];
	}
	free(numbers);
	return left;
}

ConnectionsLeft
connection_limit_left(PGconn *conn, bool of_database)
{
	char	   *sql = psprintf("SELECT %s",
							   connection_limit_expression(conn, of_database));

	return connection_limit_read(session_query(conn, sql), 0);
}

void
connection_limit_report(int level, const PGconn *conn,
						const ConnectionsLeft *connections, int left,
						int needed)
{
	if (connections->limit == CONNECTION_LIMIT_DATABASE)
		pg_log_generic(level, PG_LOG_PRIMARY,
					   "database \"%s\" on server \"%s\" has only %d of %d needed connections left",
					   printable(PQdb(conn)), connection_server_name(conn), left,
					   needed);
	else
		pg_log_generic(level, PG_LOG_PRIMARY,
					   "server \"%s\" has only %d of %d needed connections left",
					   connection_server_name(conn), left, needed);
}

void
connection_limit_report_hidden(const PGconn *conn, int at_least, int needed)
{
	pg_log_warning("server \"%s\" might have only %d of %d needed connections left",
				   connection_server_name(conn), at_least, needed);
	pg_log_warning_detail("Without the privileges of pg_read_all_stats, the role cannot see which sessions are client sessions.");
}

void
connection_limit_hint(int level, const PGconn *conn,
					  const ConnectionsLeft *left, int jobs)
{
	const char *role = left->limit == CONNECTION_LIMIT_ROLE ?
		printable(PQuser(conn)) : NULL;
	const char *database = left->limit == CONNECTION_LIMIT_DATABASE ?
		printable(PQdb(conn)) : NULL;

	if (role && jobs > 0)
		pg_log_generic(level, PG_LOG_HINT,
					   "Use --jobs=%d, or increase the connection limit of role \"%s\".",
					   jobs, role);
	else if (role)
		pg_log_generic(level, PG_LOG_HINT,
					   "End other sessions, or increase the connection limit of role \"%s\".",
					   role);
	else if (database && jobs > 0)
		pg_log_generic(level, PG_LOG_HINT,
					   "Use --jobs=%d, or increase the connection limit of database \"%s\".",
					   jobs, database);
	else if (database)
		pg_log_generic(level, PG_LOG_HINT,
					   "End other sessions, or increase the connection limit of database \"%s\".",
					   database);
	else if (jobs > 0)
		pg_log_generic(level, PG_LOG_HINT,
					   "Use --jobs=%d, or increase max_connections.", jobs);
	else
		pg_log_generic(level, PG_LOG_HINT,
					   "End other sessions, or increase max_connections.");
}

void
connection_limit_check_tasks(PGconn *conn, int n_tasks, int n_sessions)
{
	ConnectionsLeft left = connection_limit_left(conn, true);

	if (left.at_most >= n_sessions)
		return;
	connection_limit_report(PG_LOG_WARNING, conn, &left, left.at_most, n_sessions);
	pg_log_warning_detail("Number of concurrent tasks: %d.", n_tasks);
	pg_log_warning_hint("Run fewer tasks at a time.  A task without a connection exits with code 75 and can be run again.");
	connection_limit_hint(PG_LOG_WARNING, conn, &left, 0);
}

void
connection_limit_check_workers(PGconn *conn, int n_workers, int n_servers)
{
	ConnectionsLeft left = connection_limit_left(conn, true);

	if (left.at_most >= n_workers)
		return;
	connection_limit_report(PG_LOG_WARNING, conn, &left, left.at_most, n_workers);
	connection_limit_hint(PG_LOG_WARNING, conn, &left,
						  left.at_most * n_servers);
}

/* ----------
 * Opens connections to the server.
 * ----------
 */

/*
 * Our queries need to_regclass(text), which was added in 9.6, and lo_get()
 * and ROWS FROM, which were added in 9.4.
 */
#define MIN_SERVER_VERSION 90600

/* How many times to look for a pooler (session_probe), in this process. */
static int	n_probes = 3;

/* How long a new session may be silent, in this process; 0 means no limit. */
static int	silence_s = CONNECTION_SILENCE_S;

void
connection_show_notice(void *arg, const PGresult *res)
{
	const char *severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);
	char	   *text;

	if (session_withholds())
		return;
	if (severity && strcmp(severity, "WARNING") == 0)
		findings_count_warning();
	text = pg_strdup(PQresultErrorMessage(res));
	(void) pg_strip_crlf(text);
	message_before_output();
	fprintf(stderr, "%s: %s\n", this_program_name(), printable_message(text));
	free(text);
}

/*
 * Limit the time of an attempt to connect.  The limit is in the environment
 * so that workers and pg_dump have the same one.
 */
static void
limit_attempt(void)
{
	/* 0: a value that the user has set is kept. */
	setenv("PGCONNECT_TIMEOUT", CppAsString2(CONNECTION_ATTEMPT_S), 0);
}

void
connection_require_version(const PGconn *conn, int version, const char *name)
{
	if (PQserverVersion(conn) >= version)
		return;
	pg_log_error("server \"%s\" has version %s, but %s requires PostgreSQL %s or newer",
				 connection_server_name(conn),
				 PQparameterStatus(conn, "server_version"),
				 this_program_name(), name);
	pg_fatal_hint("For older servers, use pg_dump, pg_restore or pg_basebackup.");
}

/*
 * Check the server's version, and prepare a new connection like all others.
 */
static PGconn *
prepare(PGconn *conn)
{
	/*
	 * TCP settings are applied to the open connection, because it was made
	 * with the user's options only.  Connections that we make later have
	 * these settings in their connection strings.
	 */
	tcp_setting_apply(conn);
	connection_require_version(conn, MIN_SERVER_VERSION, "9.6");
	interrupt_set_connection(conn);
	return conn;
}

/* Connect.  The value of the keyword "dbname" may be a connection string. */
static PGconn *
connect_by(const char *const *keywords, const char *const *values)
{
	PGconn	   *conn;

	/*
	 * libpq prints notices itself until the notice receiver is set, which
	 * needs a connection.  The guard makes them safe to show, because a
	 * server that has not been authenticated yet may send anything.
	 */
	message_guard_begin();
	conn = PQconnectdbParams(keywords, values, true);
	message_guard_end();
	PQsetNoticeReceiver(conn, connection_show_notice, NULL);
	return conn;
}

/*
 * Keywords and their order are those of connectDatabase().  A password that a
 * command printed comes after dbname, so that it overrides a password in a
 * connection string.
 */
static PGconn *
connect_as(const ConnParams *params, const char *typed, const char *printed,
		   const char *progname)
{
	/* libpq ignores NULL values, and uses the last of two values. */
	const char *keywords[] = {"host", "port", "user", "password", "dbname",
	"password", "dbname", "fallback_application_name", NULL};
	const char *values[] = {params->pghost, params->pgport, params->pguser,
		typed, params->dbname, printed, params->override_dbname, progname,
	NULL};

	/* libpq reads the environment for each connection. */
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
 * A SessionWaitWatch for the first statements of a new session.  These take
 * no time, so silence means that the server hangs.  The leader's watchdog
 * does not know the session yet.
 */
static void
connection_watch_new_session(PGconn *conn, bool came, int64 *since)
{
	int64		now = clock_monotonic_ms();

	if (came)
		*since = now;
	else if (silence_s > 0 && now >= *since + (int64) silence_s * 1000)
	{
		pg_log_error("the server at \"%s\", port %s, did not respond within %d s",
					 printable(PQhost(conn)), PQport(conn), silence_s);
		pg_log_error_detail("The connection was established, but its first statement was not answered.");
		pg_fatal_hint("Test the connection with psql -c 'SELECT 1'.  Increase --stall-timeout if the server needs more time.");
	}
}

/*
 * Open another connection to the server that was reached; the host name may
 * stand for several servers.  The password is the same.  If the first dbname
 * looks like a connection string, libpq expands it.  The name of a database
 * that libpq took from the environment is not expanded, so it must not come
 * first.
 */
static PGconn *
connect_once_more(PGconn *conn, const ConnParams *params, const char *progname)
{
	char	   *name = psprintf("%s probe", progname);
	const char *keywords[] = {"dbname", "user", "password", "dbname", "host",
	"hostaddr", "port", "fallback_application_name", NULL};
	const char *values[] = {params->dbname ? params->dbname : "dbname=''",
		PQuser(conn), PQpass(conn), PQdb(conn), PQhost(conn),
	connection_is_unix_socket(conn) ? NULL : PQhostaddr(conn), PQport(conn), name, NULL};

	return connect_by(keywords, values);
}

/*
 * Look for a pooler before anything is set in a session, and before programs
 * run whose sessions have no marker.  If the second connection fails, the
 * probe is skipped: the run itself needs more than one connection, and will
 * report why it cannot open one.
 */
static void
probe(PGconn *conn, const ConnParams *params, const char *progname)
{
	PGconn	   *other = connect_once_more(conn, params, progname);

	if (PQstatus(other) != CONNECTION_OK)
	{
		pg_log_info("could not open a second connection: %s",
					PQerrorMessage(other));
		PQfinish(other);
		return;
	}
	if (!session_probe(conn, other, n_probes))
	{
		pg_log_warning("a second connection to the server was not answered in time");
		pg_log_warning_detail("The run needs several connections at the same time, and cannot continue with one.");
		pg_log_warning_hint("If you connect through a connection pooler, enlarge its pool, use a smaller number for --jobs, or connect to the server itself.");
	}

	/*
	 * Wait until it has ended, because another session of this run may need
	 * its place among the limited number of connections.
	 */
	session_close_and_wait(other);
}

/*
 * Unlike connectDatabase(), this does not ask again after an empty answer:
 * where no user can answer, connectDatabase() would ask forever.
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

	/*
	 * A signal during the attempt makes it fail.  The signal is what the user
	 * should read about, not the failed connection.
	 */
	if (PQstatus(conn) != CONNECTION_OK)
		interrupt_check();
	else if (PQserverVersion(conn) >= MIN_SERVER_VERSION)
	{
		SessionWaitWatch before = session_wait_set_watch(connection_watch_new_session);

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
		pg_log_error_hint("Put the password into a password file (~/.pgpass, or the file specified by PGPASSFILE), or use -W to enter it.");
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
 * The databases are those that connectMaintenanceDatabase() tries if it is
 * given no name.  The second database is not tried if a password is missing,
 * because it would be missing there, too.
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
 * The last connection that was not attempted because the password command had
 * failed, and the reason.
 */
static const PGconn *untried;
static char *untried_words;

/* A failed connection.  libpq does not connect to port 0. */
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

/* Connect to a peer.  replication is the value of that keyword, or NULL. */
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

	/*
	 * The new connection may get the same memory as the untried one, and
	 * connection_words() compares pointers only.
	 */
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

char *
connection_server_name(const PGconn *conn)
{
	return psprintf("%s:%s", printable(PQhost(conn)), PQport(conn));
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

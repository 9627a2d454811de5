/*
 * connection.c
 *		Opens sessions and brings them in the state that a dump needs.
 */
#include "fe_compat.h"

#include "common/connect.h"
#include "fe_utils/string_utils.h"
#include "portability/instr_time.h"

#include "cleanup.h"
#include "connection.h"

/* How long to wait between two tries to get a lock. */
#define LOCK_RETRY_MS 100

/* to_regclass(text) came with 9.6, lo_get() and ROWS FROM with 9.4. */
#define MIN_SERVER_VERSION 90600

/* Without --lock-wait-timeout. */
#define DEFAULT_LOCK_WAIT_MS 5000

/* LOCK TABLE names this many tables at once. */
#define LOCK_BATCH 500

/* ----------
 * Statements
 * ----------
 */
static void
statement_failed(PGconn *conn, const char *sql)
{
	cleanup_check_interrupt();
	pg_log_error("query failed: %s", PQerrorMessage(conn));
	pg_log_error_detail("Query was: %s", sql);
	exit(1);
}

PGresult *
session_query(PGconn *conn, const char *sql)
{
	PGresult   *res = PQexec(conn, sql);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		statement_failed(conn, sql);
	return res;
}

PGresult *
session_query_params(PGconn *conn, const char *sql, int n_params,
					 const char *const *params, int result_format)
{
	PGresult   *res = PQexecParams(conn, sql, n_params, NULL, params,
								   NULL, NULL, result_format);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		statement_failed(conn, sql);
	return res;
}

void
session_command(PGconn *conn, const char *sql)
{
	PGresult   *res = PQexec(conn, sql);

	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		statement_failed(conn, sql);
	PQclear(res);
}

/* ----------
 * Connecting
 * ----------
 */
PGconn *
connection_open_leader(const Options *options, const char *progname)
{
	ConnParams	params = options->connection;
	PGconn	   *conn;

	/* connectDatabase() wants a name; an empty one means libpq's default */
	if (params.dbname == NULL)
		params.dbname = "";
	conn = connectDatabase(&params, progname, false, false, true);
	if (PQserverVersion(conn) < MIN_SERVER_VERSION)
	{
		pg_log_error("the server is of version %s, which is too old",
					 PQparameterStatus(conn, "server_version"));
		pg_log_error_hint("Use pg_dump for servers before 9.6.");
		exit(1);
	}
	cancel_set_connection(conn);
	return conn;
}

static void
append_conninfo(PQExpBuffer buf, const char *keyword, const char *value)
{
	if (buf->len > 0)
		appendPQExpBufferChar(buf, ' ');
	appendPQExpBuffer(buf, "%s=", keyword);
	appendConnStrVal(buf, value);
}

/* Options that chose the server and database, or that a session sets itself. */
static bool
is_settled(const char *keyword)
{
	static const char *const keywords[] = {
		"dbname", "user", "host", "hostaddr", "port", "target_session_attrs",
		"load_balance_hosts", "service", "fallback_application_name", "replication"
	};

	for (int i = 0; i < (int) lengthof(keywords); i++)
		if (strcmp(keyword, keywords[i]) == 0)
			return true;
	return false;
}

/*
 * Does the environment, or libpq itself, give this option the same value?
 * Then the others find it too, and a pg_dump with an older libpq is not given
 * an option it may not know.
 */
static bool
is_default(const PQconninfoOption *option, const PQconninfoOption *defaults)
{
	for (; defaults->keyword; defaults++)
		if (strcmp(defaults->keyword, option->keyword) == 0)
			return strcmp(defaults->val ? defaults->val : "", option->val) == 0;
	return false;
}

/* Not to be shown: libpq marks passwords by "*", but not these keys. */
static bool
is_secret(const PQconninfoOption *option)
{
	return strchr(option->dispchar, '*') != NULL ||
		strncmp(option->keyword, "scram_", 6) == 0;
}

/*
 * The secrets that the others will not find by themselves, such as
 * sslpassword, as the text of a service file; NULL if there are none.  The
 * password is not among them.
 */
static char *
secrets_service(const PQconninfoOption *options,
				const PQconninfoOption *defaults)
{
	PQExpBufferData buf;
	bool		any = false;

	initPQExpBuffer(&buf);
	appendPQExpBufferStr(&buf, "[" PEER_SERVICE "]\n");
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
	if (any)
		return buf.data;
	termPQExpBuffer(&buf);
	return NULL;
}

PeerAddress *
peer_address_new(PGconn *conn)
{
	PeerAddress *address = pg_malloc0(sizeof(PeerAddress));
	PQconninfoOption *options = PQconninfo(conn);
	PQconninfoOption *defaults = PQconndefaults();
	PQExpBufferData buf;
	PQExpBufferData private_buf;
	const char *host = PQhost(conn);
	const char *hostaddr = PQhostaddr(conn);

	if (options == NULL || defaults == NULL)
		pg_fatal("out of memory");

	address->service = secrets_service(options, defaults);
	initPQExpBuffer(&buf);
	initPQExpBuffer(&private_buf);
	append_conninfo(&buf, "dbname", PQdb(conn));
	append_conninfo(&buf, "user", PQuser(conn));
	append_conninfo(&buf, "host", host ? host : "");
	/* empty for a Unix-domain socket */
	if (hostaddr && hostaddr[0] != '\0')
		append_conninfo(&buf, "hostaddr", hostaddr);
	append_conninfo(&buf, "port", PQport(conn));
	for (PQconninfoOption *option = options; option->keyword; option++)
	{
		if (option->val == NULL || is_settled(option->keyword) ||
			strcmp(option->keyword, "password") == 0)
			continue;
		if (is_secret(option))
			append_conninfo(&private_buf, option->keyword, option->val);
		/* our service takes the place of one that the environment names */
		else if (address->service || !is_default(option, defaults))
			append_conninfo(&buf, option->keyword, option->val);
	}
	PQconninfoFree(options);
	PQconninfoFree(defaults);

	address->conninfo = buf.data;
	address->private_conninfo = psprintf("%s %s", buf.data, private_buf.data);
	termPQExpBuffer(&private_buf);
	if (PQpass(conn) && PQpass(conn)[0] != '\0')
		address->password = pg_strdup(PQpass(conn));
	return address;
}

PGconn *
connection_open_peer(const PeerAddress *address, const char *progname)
{
	const char *keywords[] = {"password", "dbname",
	"fallback_application_name", NULL};
	const char *values[] = {address->password, address->private_conninfo,
	progname, NULL};
	PGconn	   *conn = PQconnectdbParams(keywords, values, true);

	if (PQstatus(conn) != CONNECTION_OK)
		pg_fatal("%s", PQerrorMessage(conn));
	cancel_set_connection(conn);
	return conn;
}

/* ----------
 * Settings
 * ----------
 */

/*
 * What pg_dump sets with every server that knows it, and every timeout.  One
 * statement: what a server does not know is not in its pg_settings.
 */
static const char settings_query[] =
"SELECT pg_catalog.set_config(s.name, v.setting, false)"
" FROM pg_catalog.pg_settings s JOIN (VALUES"
" ('search_path', ''),"
" ('datestyle', 'ISO'),"
" ('intervalstyle', 'postgres'),"
" ('extra_float_digits', $1),"
" ('synchronize_seqscans', 'off'),"
" ('statement_timeout', '0'),"
" ('lock_timeout', '0'),"
" ('idle_in_transaction_session_timeout', '0'),"
" ('idle_session_timeout', '0'),"
" ('transaction_timeout', '0'),"
" ('quote_all_identifiers', $2),"
" ('row_security', $3),"
" ('restrict_nonsystem_relation_kind', 'view, foreign-table')"
") v (name, setting) ON v.name OPERATOR(pg_catalog.=) s.name";

/*
 * Lets a backend see soon that its client is gone while it waits or computes
 * (14 on).  Not every platform of a server can, and it is a comfort only.
 */
static const char connection_check_query[] =
"SELECT pg_catalog.set_config(name, '1s', false)"
" FROM pg_catalog.pg_settings"
" WHERE name OPERATOR(pg_catalog.=) 'client_connection_check_interval'";

void
session_set_encoding(PGconn *conn, const char *encoding)
{
	if (PQsetClientEncoding(conn, encoding) == 0)
		return;
	cleanup_check_interrupt();
	if (PQstatus(conn) != CONNECTION_OK)
		pg_fatal("could not set client encoding \"%s\": %s", encoding,
				 PQerrorMessage(conn));
	pg_fatal("invalid client encoding \"%s\" specified", encoding);
}

void
session_set_up(PGconn *conn, const Options *options, const char *encoding)
{
	const char *params[3];

	PQclear(session_query(conn, ALWAYS_SECURE_SEARCH_PATH_SQL));
	if (encoding)
		session_set_encoding(conn, encoding);
	setFmtEncoding(PQclientEncoding(conn));

	if (options->role)
	{
		PQExpBufferData sql;

		initPQExpBuffer(&sql);
		appendPQExpBuffer(&sql, "SET ROLE %s", fmtId(options->role));
		session_command(conn, sql.data);
		termPQExpBuffer(&sql);
	}

	params[0] = options->extra_float_digits ? options->extra_float_digits : "3";
	params[1] = options->quote_all_identifiers ? "on" : "off";
	params[2] = options->enable_row_security ? "on" : "off";
	PQclear(session_query_params(conn, settings_query, 3, params, 0));
	PQclear(PQexec(conn, connection_check_query));
}

/* ----------
 * Transactions, snapshots and locks
 * ----------
 */
static void
import_snapshot(PGconn *conn, const char *snapshot)
{
	PQExpBufferData sql;

	initPQExpBuffer(&sql);
	appendPQExpBufferStr(&sql, "SET TRANSACTION SNAPSHOT ");
	appendStringLiteralConn(&sql, snapshot, conn);
	session_command(conn, sql.data);
	termPQExpBuffer(&sql);
}

char *
session_begin_leader(PGconn *conn, const Options *options)
{
	PGresult   *res;
	char	   *snapshot;

	/* an imported snapshot cannot be made safe any more; pg_dump has it so */
	if (options->serializable_deferrable && options->snapshot == NULL)
		session_command(conn, "BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE");
	else
		session_command(conn, "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
	if (options->snapshot)
		import_snapshot(conn, options->snapshot);

	/* also an imported one: its first holder may leave before we are done */
	res = session_query(conn, "SELECT pg_catalog.pg_export_snapshot()");
	snapshot = pg_strdup(PQgetvalue(res, 0, 0));
	PQclear(res);
	return snapshot;
}

void
session_begin_worker(PGconn *conn, const char *snapshot)
{
	session_command(conn, "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
	import_snapshot(conn, snapshot);
}

int
session_lock_wait_ms(PGconn *conn, const Options *options)
{
	const char *params[] = {options->lock_wait_timeout};
	PGresult   *res;
	int			result = 0;

	if (options->lock_wait_timeout)
	{
		PQclear(session_query_params(conn, "SELECT pg_catalog.set_config('lock_timeout', $1, false)",
									 1, params, 0));
		res = session_query(conn, "SELECT setting FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'lock_timeout'");
		result = atoi(PQgetvalue(res, 0, 0));
		PQclear(res);
		session_command(conn, "SET lock_timeout = 0");
	}
	return result > 0 ? result : DEFAULT_LOCK_WAIT_MS;
}

/* True if locked; false if a table is busy, its message being in conn. */
static bool
try_lock(PGconn *conn, const char *sql)
{
	PGresult   *res;
	const char *sqlstate;
	bool		locked;

	session_command(conn, "SAVEPOINT lock_tables");
	res = PQexec(conn, sql);
	locked = PQresultStatus(res) == PGRES_COMMAND_OK;
	sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	/* 55P03 lock_not_available; all else is final */
	if (!locked && (sqlstate == NULL || strcmp(sqlstate, "55P03") != 0))
		statement_failed(conn, sql);
	PQclear(res);
	return locked;
}

static void
lock_batch(PGconn *conn, const char *sql, int wait_ms)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	while (!try_lock(conn, sql))
	{
		char	   *message = pg_strdup(PQerrorMessage(conn));
		instr_time	now;

		/* both: a savepoint rolled back to stays, and they would nest */
		session_command(conn, "ROLLBACK TO SAVEPOINT lock_tables");
		session_command(conn, "RELEASE SAVEPOINT lock_tables");
		cleanup_check_interrupt();
		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_SUBTRACT(now, start);
		if (INSTR_TIME_GET_MILLISEC(now) >= wait_ms)
		{
			pg_log_error("could not lock table: %s", message);
			pg_log_error_detail("Another session holds, or has asked for, an exclusive lock on the table.");
			exit(1);
		}
		free(message);
		pg_usleep(LOCK_RETRY_MS * 1000L);
	}
	session_command(conn, "RELEASE SAVEPOINT lock_tables");
}

void
session_lock_tables(PGconn *conn, char **names, int n_names, int wait_ms)
{
	PQExpBufferData sql;

	initPQExpBuffer(&sql);
	for (int first = 0; first < n_names; first += LOCK_BATCH)
	{
		resetPQExpBuffer(&sql);
		for (int i = first; i < Min(first + LOCK_BATCH, n_names); i++)
			appendPQExpBuffer(&sql, "%s %s", i == first ? "LOCK TABLE ONLY" : ", ONLY",
							  names[i]);
		appendPQExpBufferStr(&sql, " IN ACCESS SHARE MODE NOWAIT");
		lock_batch(conn, sql.data, wait_ms);
	}
	termPQExpBuffer(&sql);
}

/*
 * connection.c
 *		Opens connections to the server.
 */
#include "base/fe_compat.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "common/connect.h"
#include "common/string.h"
#include "fe_utils/string_utils.h"

#include "base/interrupt.h"
#include "base/printable.h"
#include "session/connection.h"
#include "session/session_loss.h"
#include "session/session_wait.h"

/* to_regclass(text) came with 9.6, lo_get() and ROWS FROM with 9.4. */
#define MIN_SERVER_VERSION 90600

/* A connection to nobody is given up after 90 seconds or so. */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_COUNT 6
#define TCP_USER_TIMEOUT_MS (90 * 1000)

/* How long one attempt to connect may take. */
#define CONNECT_TIMEOUT_S "30"

/* Was the option given, by whatever way?  libpq gives no default to these. */
static bool
is_given(const PQconninfoOption *options, const char *keyword)
{
	for (; options->keyword; options++)
		if (strcmp(options->keyword, keyword) == 0)
			return options->val != NULL && options->val[0] != '\0';
	return false;
}

void
connection_show_notice(void *arg, const char *message)
{
	char	   *text = pg_strdup(message);

	(void) pg_strip_crlf(text);
	message_before_output();
	fprintf(stderr, "pg_pardump: %s\n", printable_message(text));
	free(text);
}

/*
 * A peer that vanished without a word is to be noticed, be it while data is
 * awaited or while none is.  What the user chose stays.  It is a precaution
 * only, so that nothing comes of it if a system refuses it.
 */
typedef struct TcpSetting
{
	const char *keyword;
	int			option;
	int			value;
} TcpSetting;

static const TcpSetting tcp_settings[] =
{
#ifdef TCP_USER_TIMEOUT
	{"keepalives_idle", TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
	{"keepalives_interval", TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
	{"keepalives_count", TCP_KEEPCNT, KEEPALIVE_COUNT},
	{"tcp_user_timeout", TCP_USER_TIMEOUT, TCP_USER_TIMEOUT_MS},
#endif
	{NULL}
};

static void
set_keepalives(PGconn *conn)
{
	PQconninfoOption *options = PQconninfo(conn);

	/* a Unix-domain socket's address is "" */
	if (options == NULL || PQhostaddr(conn) == NULL ||
		PQhostaddr(conn)[0] == '\0')
		return;
	for (const TcpSetting *setting = tcp_settings; setting->keyword; setting++)
		if (!is_given(options, setting->keyword))
			(void) setsockopt(PQsocket(conn), IPPROTO_TCP, setting->option,
							  &setting->value, sizeof(setting->value));
	PQconninfoFree(options);
}

PGconn *
connection_open_leader(const Options *options, const char *progname)
{
	ConnParams	params = options->connection;
	PGconn	   *conn;

	/* connectDatabase() wants a name; an empty one means libpq's default */
	if (params.dbname == NULL)
		params.dbname = "";
	/* the workers and pg_dump find it there, too */
	setenv("PGCONNECT_TIMEOUT", CONNECT_TIMEOUT_S, 0);
	conn = connectDatabase(&params, progname, false, false, true);
	set_keepalives(conn);
	PQsetNoticeProcessor(conn, connection_show_notice, NULL);
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

static void
append_conninfo(PQExpBuffer buf, const char *keyword, const char *value)
{
	if (buf->len > 0)
		appendPQExpBufferChar(buf, ' ');
	appendPQExpBuffer(buf, "%s=", keyword);
	appendConnStrVal(buf, value);
}

/*
 * Options that chose the server and database, or that a session sets itself.
 */
static bool
is_settled(const char *keyword)
{
	static const char *const keywords[] = {
		"dbname", "user", "host", "hostaddr", "port", "target_session_attrs",
		"load_balance_hosts", "service", "servicefile", "fallback_application_name",
		"replication"
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
	if (any)
		return buf.data;
	termPQExpBuffer(&buf);
	return NULL;
}

/* As set_keepalives(); libpq passes over them if there is no TCP. */
static char *
choose_tcp_settings(const PQconninfoOption *options, bool takes_rows)
{
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	for (const TcpSetting *setting = tcp_settings; setting->keyword; setting++)
		if (!is_given(options, setting->keyword) &&
			!(takes_rows && strcmp(setting->keyword, "tcp_user_timeout") == 0))
			appendPQExpBuffer(&buf, " %s=%d", setting->keyword, setting->value);
	return buf.data;
}

PeerAddress *
peer_address_new(PGconn *conn, bool takes_rows)
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

	address->secrets.service = secrets_service(options, defaults);
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
		else if (address->secrets.service || !is_default(option, defaults))
			append_conninfo(&buf, option->keyword, option->val);
	}
	address->tcp_settings = choose_tcp_settings(options, takes_rows);
	PQconninfoFree(options);
	PQconninfoFree(defaults);

	address->conninfo = buf.data;
	address->private_conninfo = psprintf("%s %s%s", buf.data, private_buf.data,
										 address->tcp_settings);
	termPQExpBuffer(&private_buf);
	if (PQpass(conn) && PQpass(conn)[0] != '\0')
		address->secrets.password = pg_strdup(PQpass(conn));
	return address;
}

/* replication may be NULL */
static PGconn *
try_connect(const PeerAddress *address, const char *replication,
			const char *progname)
{
	const char *keywords[] = {"password", "dbname", "replication",
	"fallback_application_name", NULL};
	const char *values[] = {address->secrets.password, address->private_conninfo,
	replication, progname, NULL};
	PGconn	   *conn;

	session_wait_begins();
	conn = PQconnectdbParams(keywords, values, true);
	session_wait_ends();
	PQsetNoticeProcessor(conn, connection_show_notice, NULL);
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

	/* whoever was let in once may be let in again, whatever is wrong now */
	if (PQstatus(conn) != CONNECTION_OK)
	{
		interrupt_check();
		session_lost(PQerrorMessage(conn));
	}
	interrupt_set_connection(conn);
	return conn;
}

bool
connection_is_local(const PGconn *conn)
{
	const char *address = PQhostaddr(conn);

	/* empty for a Unix-domain socket */
	return address == NULL || address[0] == '\0' ||
		strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

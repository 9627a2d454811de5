/*
 * peer_address.c
 *		Describes the server of a connection to those who come after.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "session/peer_address.h"
#include "session/tcp_setting.h"

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
	address->tcp_settings = tcp_setting_conninfo(options, takes_rows);
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

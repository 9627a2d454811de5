/*
 * peer_address.c
 *		Describes the server of a connection to those who come after.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/identifier.h"
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

static const char *
value_of(const PQconninfoOption *options, const char *keyword)
{
	for (; options->keyword; options++)
		if (strcmp(options->keyword, keyword) == 0)
			return options->val && options->val[0] ? options->val : NULL;
	return NULL;
}

/* ----------
 * The password
 *
 * libpq reports as "password" what was typed, and what it has from the
 * connection string, a service file or PGPASSWORD; what it has from a
 * passfile it keeps to itself.  Only what was typed or is in the string need
 * be kept.  The others libpq reads again for each connection, as they may
 * have changed.
 * ----------
 */
static void
set_variable(const char *name, const char *value)
{
	if ((value ? setenv(name, value, 1) : unsetenv(name)) != 0)
		pg_fatal("could not set environment: %m");
}

static char *
copy_variable(const char *name)
{
	const char *value = getenv(name);

	return value ? pg_strdup(value) : NULL;
}

/* Does this service have this password?  libpq tells what PGSERVICE gives. */
static bool
service_has_password(const char *service, const char *file,
					 const char *password)
{
	char	   *old_service = copy_variable("PGSERVICE");
	char	   *old_file = copy_variable("PGSERVICEFILE");
	PQconninfoOption *options;
	const char *its_own;
	bool		result;

	set_variable("PGSERVICE", service);
	if (file)
		set_variable("PGSERVICEFILE", file);
	options = PQconndefaults();
	set_variable("PGSERVICE", old_service);
	set_variable("PGSERVICEFILE", old_file);
	if (options == NULL)
		pg_fatal("out of memory");
	its_own = value_of(options, "password");
	result = its_own && strcmp(its_own, password) == 0;
	PQconninfoFree(options);
	free(old_service);
	free(old_file);
	return result;
}

/*
 * Have libpq read the service again for each connection.  What is settled
 * must not be what the service says.
 */
static char *
service_conninfo(const char *service, const char *file)
{
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	append_conninfo(&buf, "service", service);
	if (file)
		append_conninfo(&buf, "servicefile", file);
	append_conninfo(&buf, "target_session_attrs", "any");
	if (PQExpBufferDataBroken(buf))
		pg_fatal("out of memory");
	return psprintf(" %s", buf.data);
}

/*
 * The service of a connection string that has this password; NULL if it has
 * another one, or there is none.  Before 18 a connection does not tell the
 * service that it was made with.
 */
static char *
find_service(const char *given, const char *password)
{
	/* otherwise it is the name of a database */
	PQconninfoOption *options = identifier_is_conninfo(given) ?
		PQconninfoParse(given, NULL) : NULL;
	const char *service = options ? value_of(options, "service") : NULL;
	const char *file = options ? value_of(options, "servicefile") : NULL;
	char	   *result = NULL;

	if (service && service_has_password(service, file, password))
		result = service_conninfo(service, file);
	PQconninfoFree(options);
	return result;
}

/*
 * A program can be told one service: if that is ours, for other secrets, the
 * password of another one is kept like one that was typed.
 */
static void
note_password(PeerAddress *address, const PQconninfoOption *options,
			  const PQconninfoOption *defaults, const char *given)
{
	const char *password = value_of(options, "password");
	const char *inherited = value_of(defaults, "password");

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

/* For programs. */
static void
note_password_file(PeerAddress *address)
{
	if (address->command)
		address->secrets.password_file = password_command_file(address->command);
	else if (address->password)
		address->secrets.password_file = password_file_new(address->password);
	else
		return;

	/* the password of a service in the environment would come first */
	if (address->secrets.service == NULL && getenv("PGSERVICE"))
		address->secrets.service = pg_strdup("[" CHILD_SERVICE "]\n");
}

/* ----------
 * The address
 * ----------
 */

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

/* Both of them with all options but those that are settled. */
static void
append_options(const PeerAddress *address, const PQconninfoOption *options,
			   const PQconninfoOption *defaults, PQExpBuffer buf,
			   PQExpBuffer private_buf)
{
	for (const PQconninfoOption *option = options; option->keyword; option++)
	{
		if (option->val == NULL || is_settled(option->keyword) ||
			strcmp(option->keyword, "password") == 0)
			continue;
		/* it would come before the one that programs are given */
		if (address->secrets.password_file &&
			strcmp(option->keyword, "passfile") == 0)
			continue;
		if (is_secret(option))
			append_conninfo(private_buf, option->keyword, option->val);
		/* our service takes the place of one that the environment names */
		else if (address->secrets.service || !is_default(option, defaults))
			append_conninfo(buf, option->keyword, option->val);
	}
}

PeerAddress *
peer_address_new(PGconn *conn, bool takes_rows, const char *given,
				 const char *password_command)
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

	address->command = password_command_get(password_command);
	address->secrets.service = secrets_service(options, defaults);
	note_password(address, options, defaults, given);
	note_password_file(address);
	initPQExpBuffer(&buf);
	initPQExpBuffer(&private_buf);
	append_conninfo(&buf, "dbname", PQdb(conn));
	append_conninfo(&buf, "user", PQuser(conn));
	append_conninfo(&buf, "host", host ? host : "");
	/* empty for a Unix-domain socket */
	if (hostaddr && hostaddr[0] != '\0')
		append_conninfo(&buf, "hostaddr", hostaddr);
	append_conninfo(&buf, "port", PQport(conn));
	append_options(address, options, defaults, &buf, &private_buf);
	address->tcp_settings = tcp_setting_conninfo(options, takes_rows);
	PQconninfoFree(options);
	PQconninfoFree(defaults);

	address->conninfo = buf.data;
	address->private_conninfo = psprintf("%s %s%s%s", buf.data, private_buf.data,
										 address->tcp_settings,
										 address->service ? address->service : "");
	termPQExpBuffer(&private_buf);
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

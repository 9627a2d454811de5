/*
 * task_address.c
 *		How a task reaches the server.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/identifier.h"
#include "tasks/task_address.h"

/* As libpq has them (fe-connect.c, EnvironmentOptions). */
#define TIME_ZONE "PGTZ"
#define DATE_STYLE "PGDATESTYLE"

/* How long one attempt to connect may take. */
#define CONNECT_TIMEOUT_S "30"

static PQconninfoOption *
parse(const char *conninfo, const char *where)
{
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);

	/* libpq's words would quote it, and there may be a password in it */
	if (options == NULL)
		pg_fatal("invalid connection string %s", where);
	return options;
}

static PQconninfoOption *
find(PQconninfoOption *options, const char *keyword)
{
	while (options->keyword && strcmp(options->keyword, keyword) != 0)
		options++;
	return options->keyword ? options : NULL;
}

static void
set(PQconninfoOption *options, const char *keyword, const char *value)
{
	PQconninfoOption *option = find(options, keyword);

	if (option == NULL || value == NULL)
		return;
	option->val = pg_strdup(value);
	/* an address would be taken instead of a name that is given now */
	if (strcmp(keyword, "host") == 0)
		find(options, "hostaddr")->val = NULL;
}

/* It may be a connection string. */
static void
set_database(PQconninfoOption *options, const char *dbname)
{
	PQconninfoOption *given;

	if (!identifier_is_conninfo(dbname))
	{
		set(options, "dbname", dbname);
		return;
	}
	given = parse(dbname, "for option -d/--dbname");
	/* a host first, which would else take away its address */
	for (PQconninfoOption *option = given; option->keyword; option++)
		if (strcmp(option->keyword, "hostaddr") != 0)
			set(options, option->keyword, option->val);
	set(options, "hostaddr", find(given, "hostaddr")->val);
	PQconninfoFree(given);
}

PeerAddress *
task_address(const char *conninfo, const ConnParams *params,
			 const char *password_command)
{
	PeerAddress *address = pg_malloc0(sizeof(PeerAddress));
	PQconninfoOption *options = parse(conninfo, "in the plan");
	PQExpBufferData buf;

	/* the leader's is of its own host, if it was not given there */
	if (getenv("PGPASSFILE") || password_command)
		find(options, "passfile")->val = NULL;
	if (params->dbname)
		set_database(options, params->dbname);
	set(options, "host", params->pghost);
	set(options, "port", params->pgport);
	set(options, "user", params->pguser);
	initPQExpBuffer(&buf);
	for (; options->keyword; options++)
	{
		if (options->val == NULL)
			continue;
		appendPQExpBuffer(&buf, "%s%s=", buf.len > 0 ? " " : "",
						  options->keyword);
		appendConnStrVal(&buf, options->val);
	}
	if (PQExpBufferDataBroken(buf))
		pg_fatal("out of memory");
	setenv("PGCONNECT_TIMEOUT", CONNECT_TIMEOUT_S, 0);
	address->command = password_command_get(password_command);
	if (address->command)
		address->secrets.password_file = password_command_file(address->command);
	address->conninfo = address->private_conninfo = buf.data;
	return address;
}

char *
task_address_of(PGconn *conn, const PeerAddress *address)
{
	static const char *const keywords[] = {
		"options", "sslmode", "channel_binding", "require_auth", "gssencmode",
		"ssl_min_protocol_version", "requirepeer"
	};
	PQconninfoOption *options = PQconninfo(conn);
	PQExpBufferData text;

	initPQExpBuffer(&text);

	/* first: without any of the leader's, another host's are not to count */
	appendPQExpBufferStr(&text, "options='' ");
	appendPQExpBuffer(&text, "%s%s", address->conninfo, address->tcp_settings);
	for (PQconninfoOption *option = options; option && option->keyword; option++)
		for (int i = 0; option->val && option->val[0] && i < (int) lengthof(keywords); i++)
			if (strcmp(option->keyword, keywords[i]) == 0)
			{
				appendPQExpBuffer(&text, " %s=", option->keyword);
				appendConnStrVal(&text, option->val);
			}
	PQconninfoFree(options);
	if (PQExpBufferDataBroken(text))
		pg_fatal("out of memory");
	return text.data;
}

void
task_address_note_environment(TaskRun *run)
{
	run->time_zone = getenv(TIME_ZONE);
	run->date_style = getenv(DATE_STYLE);
}

static void
set_variable(const char *name, const char *value)
{
	if ((value ? setenv(name, value, 1) : unsetenv(name)) != 0)
		pg_fatal("could not set environment: %m");
}

void
task_address_set_environment(const TaskRun *run)
{
	set_variable(TIME_ZONE, run->time_zone);
	set_variable(DATE_STYLE, run->date_style);
}

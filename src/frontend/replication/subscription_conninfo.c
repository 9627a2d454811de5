/*
 * subscription_conninfo.c
 *		The way from the target's server to the source.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "replication/subscription_conninfo.h"
#include "session/connection.h"

/* What of a connection's options means the same on another machine. */
static bool
is_portable(const char *keyword)
{
	static const char *const keywords[] = {
		"host", "hostaddr", "port", "dbname", "user", "sslmode",
		"channel_binding", "gssencmode", "krbsrvname"
	};

	for (int i = 0; i < (int) lengthof(keywords); i++)
		if (strcmp(keyword, keywords[i]) == 0)
			return true;
	return false;
}

/* The server that the leader is connected to, without any secret; owned. */
static char *
default_conninfo(PGconn *source_conn)
{
	PQconninfoOption *options = PQconninfo(source_conn);
	PQExpBufferData buf;

	if (options == NULL)
		pg_fatal("out of memory");
	initPQExpBuffer(&buf);
	for (PQconninfoOption *option = options; option->keyword; option++)
	{
		const char *value = option->val;

		if (!is_portable(option->keyword))
			continue;
		/* of several hosts the one that was reached */
		if (strcmp(option->keyword, "host") == 0)
			value = PQhost(source_conn);
		else if (strcmp(option->keyword, "port") == 0)
			value = PQport(source_conn);
		else if (strcmp(option->keyword, "hostaddr") == 0 && value != NULL)
			value = PQhostaddr(source_conn);
		if (value == NULL || value[0] == '\0')
			continue;
		appendPQExpBuffer(&buf, "%s%s=", buf.len > 0 ? " " : "",
						  option->keyword);
		appendConnStrVal(&buf, value);
	}
	PQconninfoFree(options);
	return buf.data;
}

char *
subscription_conninfo(PGconn *source_conn, PGconn *target_conn,
					  const Options *options)
{
	if (options->subscription_conninfo)
		return pg_strdup(options->subscription_conninfo);
	if (connection_is_local(source_conn) && !connection_is_local(target_conn))
	{
		pg_log_error("the target's server cannot reach the source as this program does");
		pg_log_error_detail("The source is on this machine, the target is not.");
		pg_log_error_hint("Tell how it reaches the source by --subscription-conninfo.");
		exit(1);
	}
	return default_conninfo(source_conn);
}

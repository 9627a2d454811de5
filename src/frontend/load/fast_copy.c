/*
 * fast_copy.c
 *		Has the extension's library load rows, in sessions on the target.
 *
 * Every role may load what is in this directory, also if the database has not
 * created or preloaded it.  A name with a directory is not looked for by
 * dynamic_library_path (dfmgr.c:expand_dynamic_library_name), so that it
 * leads to a file that the server's administrator has put there, or to none.
 */
#include "base/fe_compat.h"

#include "load/fast_copy.h"
#include "session/session.h"
#include "session/session_lost.h"

static const char load_command[] = "LOAD '$libdir/plugins/pg_pardump'";

#define SETTING "pg_pardump.fast_copy"

/* Why the library is not there, or NULL; owned. */
static char *
load_library(PGconn *conn)
{
	PGresult   *res = session_exec(conn, load_command);
	const char *message = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
	char	   *reason = NULL;

	if (PQresultStatus(res) != PGRES_COMMAND_OK)
	{
		/* what libpq says itself has no message field */
		if (message == NULL || session_is_lost(conn, res))
			session_failed(conn, res, "query failed", load_command);
		reason = pg_strdup(message);
	}
	PQclear(res);
	return reason;
}

/*
 * What the role, the database or the connection string says of the setting
 * is heeded: so it can be switched off.
 */
static char *
switch_on(PGconn *conn)
{
	PGresult   *res = session_read_settings(conn, "{" SETTING "}");
	char	   *reason = NULL;

	if (PQntuples(res) == 0)
		reason = pg_strdup("the library there has no fast_copy");
	else if (strcmp(PQgetvalue(res, 0, SETTING_SOURCE), "default") == 0)
		session_set(conn, SETTING, "on", false);
	else if (strcmp(PQgetvalue(res, 0, SETTING_VALUE), "on") != 0)
		reason = pg_strdup(SETTING " is off there");
	PQclear(res);
	return reason;
}

char *
fast_copy_begin(PGconn *conn)
{
	char	   *reason = load_library(conn);
	bool		begun;

	if (reason)
		return reason;
	begun = session_begin_settings(conn);
	reason = switch_on(conn);
	session_end_settings(conn, begun);
	return reason;
}

/*
 * toast_compression.c
 *		--toast-compression: how the target compresses long values.
 */
#include "base/fe_compat.h"

#include "load/toast_compression.h"
#include "session/session.h"

/* What a server was built with are the values of the setting (14 on). */
static const char known_query[] =
"SELECT $1 OPERATOR(pg_catalog.=) ANY (s.enumvals)"
" FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) 'default_toast_compression'";

static bool
is_wanted(const char *method)
{
	return method != NULL && strcmp(method, "default") != 0;
}

void
toast_compression_check(PGconn *conn, const char *method)
{
	PGresult   *res;

	if (!is_wanted(method))
		return;
	res = session_query_params(conn, known_query, 1, &method, 0);
	if (PQntuples(res) == 0)
	{
		pg_log_error("the target, of version %s, has only one way to compress long values",
					 PQparameterStatus(conn, "server_version"));
		pg_log_error_hint("--toast-compression is for servers from 14 on.");
	}
	else if (PQgetvalue(res, 0, 0)[0] != 't')
	{
		pg_log_error("the target's server cannot compress by %s", method);
		pg_log_error_detail("It was built without it.");
	}
	PQclear(res);
}

void
toast_compression_set(PGconn *conn, const char *method)
{
	bool		begun;

	if (!is_wanted(method))
		return;
	begun = session_begin_settings(conn);
	session_set(conn, "default_toast_compression", method, false);
	session_end_settings(conn, begun);
}

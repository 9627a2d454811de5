/*
 * cluster_session.c
 *		Connects to a cluster.
 */
#include "base/fe_compat.h"

#include "base/identifier.h"
#include "base/interrupt.h"
#include "cluster/cluster_session.h"
#include "session/connection.h"
#include "session/session_settings.h"

/* Does this connection string or name say which database? */
static bool
names_database(const char *text)
{
	PQconninfoOption *options;
	bool		result = false;

	if (text == NULL || text[0] == '\0')
		return false;
	if (!identifier_is_conninfo(text))
		return true;
	/* if it is wrong the connection fails, too */
	options = PQconninfoParse(text, NULL);
	for (PQconninfoOption *option = options; option && option->keyword; option++)
		if (strcmp(option->keyword, "dbname") == 0 && option->val && option->val[0])
			result = true;
	PQconninfoFree(options);
	return result;
}

PGconn *
cluster_session_open(const ConnParams *connection,
					 const char *password_command, const char *progname)
{
	ConnParams	params = *connection;
	PGconn	   *conn;

	if (params.dbname == NULL)
		params.dbname = "";
	if (names_database(params.dbname))
		conn = connection_open_params(&params, password_command, progname);
	else
		conn = connection_open_maintenance(&params, password_command, progname);
	session_set_encoding(conn, "SQL_ASCII");
	session_end_timeouts(conn);
	return conn;
}

void
cluster_session_close(PGconn *conn)
{
	interrupt_set_connection(NULL);
	session_close(conn);
}

void
cluster_session_add_args(SimpleStringList *args, const Options *options,
						 const char *conninfo)
{
	/* whoever is asked for a password, was asked already */
	simple_string_list_append(args, "-w");
	simple_string_list_append(args, psprintf("--jobs=%d", options->jobs));
	simple_string_list_append(args, "--no-progress");
	simple_string_list_append(args, "-d");
	simple_string_list_append(args, conninfo);
}

/*
 * cluster_list.c
 *		Reads which databases a cluster has.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"
#include "mb/pg_wchar.h"

#include "cluster/cluster_list.h"
#include "session/session.h"

/* A role that may not connect, nor read all statistics, may not ask. */
static const char list_query[] =
"SELECT d.oid, d.datname, CASE WHEN"
" pg_catalog.has_database_privilege(d.oid, 'CONNECT') OR EXISTS"
" (SELECT FROM pg_catalog.pg_roles r"
" WHERE r.rolname OPERATOR(pg_catalog.=) 'pg_read_all_stats'"
" AND pg_catalog.pg_has_role(r.oid, 'USAGE'))"
" THEN COALESCE(pg_catalog.pg_database_size(d.oid), 0) ELSE 0 END"
" FROM pg_catalog.pg_database d"
" WHERE d.datallowconn AND d.datconnlimit OPERATOR(pg_catalog.<>) -2"
" AND d.datname OPERATOR(pg_catalog.<>) 'template0'"
" ORDER BY 3 DESC, 2";

ClusterList *
cluster_list_read(PGconn *conn, const Options *options)
{
	ClusterList *list = pg_malloc0(sizeof(ClusterList));
	PGresult   *res = session_query(conn, list_query);

	list->databases = pg_malloc0((PQntuples(res) + 1) * sizeof(ClusterDatabase));
	for (int i = 0; i < PQntuples(res); i++)
	{
		ClusterDatabase *database = &list->databases[list->n++];

		database->oid = (Oid) strtoul(PQgetvalue(res, i, 0), NULL, 10);
		database->name = pg_strdup(PQgetvalue(res, i, 1));
		database->bytes = strtoull(PQgetvalue(res, i, 2), NULL, 10);
	}
	PQclear(res);
	cluster_list_exclude(list, conn, options);
	return list;
}

/*
 * A name as the server takes it, owned: one of a database with another
 * encoding may have bytes that are no characters there, which become "?".
 */
static char *
name_for(PGconn *conn, const char *name)
{
	const char *server_encoding = PQparameterStatus(conn, "server_encoding");
	int			encoding = server_encoding ? pg_char_to_encoding(server_encoding) : -1;
	int			len = (int) strlen(name);
	char	   *result = pg_strdup(name);

	if (encoding < 0 || pg_encoding_verifymbstr(encoding, name, len) == len)
		return result;
	for (char *c = result; *c; c++)
		if (IS_HIGHBIT_SET(*c))
			*c = '?';
	return result;
}

/* Those of the list that the pattern matches, by their places in it. */
static PGresult *
match(const ClusterList *list, PGconn *conn, const char *pattern)
{
	char	  **names = pg_malloc((list->n + 1) * sizeof(char *));
	const char *params[1];
	PQExpBufferData sql;
	PGresult   *res;
	int			dots;

	for (int i = 0; i < list->n; i++)
		names[i] = name_for(conn, list->databases[i].name);
	params[0] = text_array(conn, names, list->n);
	initPQExpBuffer(&sql);
	appendPQExpBufferStr(&sql,
						 "SELECT d.place FROM pg_catalog.unnest($1::pg_catalog.text[])"
						 " WITH ORDINALITY d (datname, place)\n");
	processSQLNamePattern(conn, &sql, pattern, false, false, NULL,
						  "d.datname", NULL, NULL, NULL, &dots);
	if (dots > 0)
		pg_fatal("improper qualified name (too many dotted names): %s", pattern);
	appendPQExpBufferStr(&sql, " ORDER BY 1");
	res = session_query_params(conn, sql.data, 1, params, 0);
	termPQExpBuffer(&sql);
	free(unconstify(char *, params[0]));
	for (int i = 0; i < list->n; i++)
		free(names[i]);
	free(names);
	return res;
}

void
cluster_list_exclude(ClusterList *list, PGconn *conn, const Options *options)
{
	for (const SimpleStringListCell *cell = options->exclude_databases.head;
		 cell; cell = cell->next)
	{
		PGresult   *res = match(list, conn, cell->val);
		int			n = 0;
		int			next = 0;

		for (int i = 0; i < list->n; i++)
		{
			if (next < PQntuples(res) && atoi(PQgetvalue(res, next, 0)) == i + 1)
			{
				pg_log_info("excluding database \"%s\"", list->databases[i].name);
				next++;
			}
			else
				list->databases[n++] = list->databases[i];
		}
		list->n = n;
		PQclear(res);
	}
}

void
cluster_list_refuse_existing(const ClusterList *list, PGconn *target)
{
	PGresult   *res = session_query(target,
									"SELECT d.datname FROM pg_catalog.pg_database d");
	bool		any = false;

	for (int i = 0; i < list->n; i++)
	{
		const char *name = list->databases[i].name;

		for (int j = 0; j < PQntuples(res); j++)
		{
			if (strcmp(PQgetvalue(res, j, 0), name) != 0 ||
				cluster_list_is_initial(&list->databases[i]))
				continue;
			pg_log_error("the target has a database \"%s\" already", name);
			any = true;
		}
	}
	if (any)
		pg_log_error_hint("Drop what is to be replaced, or leave it out by --exclude-database.");
	PQclear(res);
}

bool
cluster_list_is_initial(const ClusterDatabase *database)
{
	return strcmp(database->name, "postgres") == 0 ||
		strcmp(database->name, "template1") == 0;
}

char *
cluster_list_conninfo(const PeerAddress *address, const char *database)
{
	PQExpBufferData text;

	initPQExpBuffer(&text);
	/* the last of a keyword counts */
	appendPQExpBuffer(&text, "%s dbname=", address->private_conninfo);
	appendConnStrVal(&text, database);
	if (address->password)
	{
		appendPQExpBufferStr(&text, " password=");
		appendConnStrVal(&text, address->password);
	}
	if (PQExpBufferDataBroken(text))
		pg_fatal("out of memory");
	return text.data;
}

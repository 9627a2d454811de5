/*
 * table_pattern.c
 *		Options that are for the tables, or columns, that a pattern matches.
 */
#include "base/fe_compat.h"

#include "fe_utils/simple_list.h"
#include "fe_utils/string_utils.h"

#include "base/identifier.h"
#include "selection/table_pattern.h"
#include "session/session.h"

/* A run's options have no place for it: this is the process's. */
static SimpleStringList missing;

TablePattern
table_pattern_split(const char *option, const char *form, const char *arg,
					bool has_column)
{
	TablePattern result = {.option = option};
	const char *pos = identifier_skip(arg, ':');
	char	   *dot = NULL;

	result.table = pnstrdup(arg, pos - arg);
	if (has_column)
		dot = identifier_last(result.table, '.');
	if (*pos == '\0' || pos == arg || pos[1] == '\0' ||
		(has_column && (dot == NULL || dot == result.table || dot[1] == '\0')))
	{
		pg_log_error("invalid value \"%s\" for option %s", arg, option);
		pg_log_error_hint("The form is %s.", form);
		exit(1);
	}
	if (has_column)
	{
		result.column = pg_strdup(dot + 1);
		*dot = '\0';
	}
	result.value = pos + 1;
	return result;
}

void
table_pattern_free(TablePattern *pattern)
{
	free(pattern->table);
	free(pattern->column);
}

static void
append_column(PGconn *conn, PQExpBuffer sql, const TablePattern *pattern)
{
	int			dots;

	processSQLNamePattern(conn, sql, pattern->column, true, false, NULL,
						  "a.attname", NULL, NULL, NULL, &dots);
}

/* Is the table one of this database, by the pattern? */
static bool
append_table(PGconn *conn, PQExpBuffer sql, const TablePattern *pattern)
{
	PQExpBufferData dbname;
	bool		result;
	int			dots;

	initPQExpBuffer(&dbname);
	processSQLNamePattern(conn, sql, pattern->table, true, false,
						  "n.nspname", "c.relname", NULL,
						  "pg_catalog.pg_table_is_visible(c.oid)",
						  &dbname, &dots);
	if (dots > 2)
		pg_fatal("improper relation name for option %s: %s",
				 pattern->option, pattern->table);
	result = dots < 2 || strcmp(dbname.data, PQdb(conn)) == 0;
	termPQExpBuffer(&dbname);
	return result;
}

PGresult *
table_pattern_query(PGconn *conn, const TablePattern *pattern, bool children,
					const char *query)
{
	PQExpBufferData sql;
	PGresult   *res;

	initPQExpBuffer(&sql);
	appendPQExpBufferStr(&sql,
						 "WITH RECURSIVE matching (oid, relkind) AS (("
						 "SELECT c.oid, c.relkind FROM pg_catalog.pg_class c"
						 " LEFT JOIN pg_catalog.pg_namespace n"
						 " ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
						 " WHERE c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'f', 'p'])\n");
	if (!append_table(conn, &sql, pattern))
		pg_fatal("improper relation name for option %s: %s",
				 pattern->option, pattern->table);
	appendPQExpBuffer(&sql, ") UNION SELECT c.oid, c.relkind FROM matching m"
					  " JOIN pg_catalog.pg_inherits i"
					  " ON i.inhparent OPERATOR(pg_catalog.=) m.oid"
					  " JOIN pg_catalog.pg_class c"
					  " ON c.oid OPERATOR(pg_catalog.=) i.inhrelid%s) %s ",
					  children ? "" :
					  " WHERE m.relkind OPERATOR(pg_catalog.=) 'p'", query);
	if (pattern->column)
		append_column(conn, &sql, pattern);
	appendPQExpBufferStr(&sql, " ORDER BY 1");
	/* visible are the tables that the user's own search path shows */
	session_command(conn, "RESET search_path");
	res = session_query(conn, sql.data);
	PQclear(session_query(conn, "SELECT pg_catalog.set_config('search_path', '', false)"));
	termPQExpBuffer(&sql);
	return res;
}

bool
table_pattern_is_elsewhere(PGconn *conn, const TablePattern *pattern)
{
	PQExpBufferData unused;
	bool		result;

	initPQExpBuffer(&unused);
	result = !append_table(conn, &unused, pattern);
	termPQExpBuffer(&unused);
	return result;
}

bool
table_pattern_is_there(PGconn *conn, const TablePattern *pattern)
{
	static const char columns[] =
		" JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) m.oid"
		" AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped";
	static const char format[] =
		"SELECT m.oid FROM matching m"
		" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) m.oid"
		" JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) c.relnamespace%s"
		" WHERE s.nspname OPERATOR(pg_catalog.!~) '^pg_'"
		" AND s.nspname OPERATOR(pg_catalog.<>) 'information_schema'";
	char	   *query;
	PGresult   *res;
	bool		result;

	if (table_pattern_is_elsewhere(conn, pattern))
		return false;
	query = psprintf(format, pattern->column ? columns : "");
	res = table_pattern_query(conn, pattern, true, query);
	free(query);
	result = PQntuples(res) > 0;
	PQclear(res);
	return result;
}

static Oid
oid_of(const PGresult *res, int row)
{
	return (Oid) strtoul(PQgetvalue(res, row, 0), NULL, 10);
}

TableRows
table_pattern_rows(const PGresult *res, Oid oid)
{
	TableRows	rows = {0};
	int			end = PQntuples(res);

	while (rows.first < end)
	{
		int			middle = rows.first + (end - rows.first) / 2;

		if (oid_of(res, middle) < oid)
			rows.first = middle + 1;
		else
			end = middle;
	}
	while (rows.first + rows.n < PQntuples(res) &&
		   oid_of(res, rows.first + rows.n) == oid)
		rows.n++;
	return rows;
}

void
table_pattern_note_missing(const char *arg)
{
	simple_string_list_append(&missing, arg);
}

bool
table_pattern_was_missing(const char *arg)
{
	return simple_string_list_member(&missing, arg);
}

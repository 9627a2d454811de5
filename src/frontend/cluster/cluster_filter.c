/*
 * cluster_filter.c
 *		Options that name what must be there, if not in every database.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/identifier.h"
#include "base/interrupt.h"
#include "cluster/cluster_filter.h"
#include "selection/row_filter.h"
#include "selection/row_mask.h"
#include "session/connection.h"
#include "session/session_settings.h"

typedef enum PatternKind
{
	OF_TABLES,					/* -t, and with children */
	OF_SCHEMAS,					/* -n */
	OF_ROWS,					/* --where, --sample */
	OF_COLUMNS,					/* --mask, also of a file */
	N_KINDS
} PatternKind;

typedef struct ClusterPattern
{
	PatternKind kind;
	const char *option;			/* with its dashes */
	const char *value;
	bool		found;			/* in one of the databases */
} ClusterPattern;

struct ClusterFilter
{
	ClusterPattern *patterns;
	int			n;
	bool		given[N_KINDS]; /* is there any of the kind? */
	bool		strict;			/* --strict-names */
};

/* ----------
 * What the options name
 * ----------
 */
static void
add_pattern(ClusterFilter *filter, PatternKind kind, const char *option,
			const char *value)
{
	ClusterPattern pattern = {.kind = kind,.option = option,.value = value};

	filter->patterns = pg_realloc(filter->patterns,
								  (filter->n + 1) * sizeof(ClusterPattern));
	filter->patterns[filter->n++] = pattern;
	filter->given[kind] = true;
}

static void
add_list(ClusterFilter *filter, PatternKind kind, const char *option,
		 const SimpleStringList *values)
{
	for (const SimpleStringListCell *cell = values->head; cell; cell = cell->next)
		add_pattern(filter, kind, option, cell->val);
}

static ClusterFilter *
read_options(const Options *options)
{
	ClusterFilter *filter = pg_malloc0(sizeof(ClusterFilter));

	add_list(filter, OF_TABLES, "--table", &options->run_tables);
	add_list(filter, OF_TABLES, "--table-and-children",
			 &options->run_tables_and_children);
	add_list(filter, OF_SCHEMAS, "--schema", &options->run_schemas);
	add_list(filter, OF_ROWS, "--where", &options->where);
	add_list(filter, OF_ROWS, "--sample", &options->sample);
	add_list(filter, OF_COLUMNS, "--mask", &options->mask);
	for (int i = 0; i < options->n_run_args; i++)
		if (strcmp(options->run_args[i], "--strict-names") == 0)
			filter->strict = true;
	return filter;
}

/* ----------
 * What a database has
 * ----------
 */

/*
 * By the rules of pg_dump (expand_table_name_patterns and its like for
 * schemas), but that a table of another database is no error.
 */
static bool
object_is_there(PGconn *conn, const char *pattern, bool is_schema)
{
	const char *from = is_schema ?
		"SELECT FROM pg_catalog.pg_namespace n WHERE true" :
		"SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n"
		" ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
		" WHERE c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'S', 'v', 'm', 'f', 'p', 'g'])";
	PQExpBufferData sql;
	PQExpBufferData dbname;
	PGresult   *res;
	bool		result;
	int			dots;

	initPQExpBuffer(&sql);
	initPQExpBuffer(&dbname);
	appendPQExpBuffer(&sql, "%s\n", from);
	processSQLNamePattern(conn, &sql, pattern, true, false,
						  is_schema ? NULL : "n.nspname",
						  is_schema ? "n.nspname" : "c.relname", NULL,
						  is_schema ? NULL : "pg_catalog.pg_table_is_visible(c.oid)",
						  &dbname, &dots);
	if (dots > (is_schema ? 0 : 2))
		pg_fatal("improper %s name (too many dotted names): %s",
				 is_schema ? "qualified" : "relation", pattern);
	appendPQExpBufferStr(&sql, " LIMIT 1");
	/* visible are the tables that the user's own search path shows */
	session_command(conn, "RESET search_path");
	res = session_query(conn, sql.data);
	result = PQntuples(res) > 0 &&
		(dots < 2 || strcmp(dbname.data, PQdb(conn)) == 0);
	PQclear(res);
	PQclear(session_query(conn, "SELECT pg_catalog.set_config('search_path', '', false)"));
	termPQExpBuffer(&sql);
	termPQExpBuffer(&dbname);
	return result;
}

static bool
pattern_is_there(PGconn *conn, const ClusterPattern *pattern)
{
	switch (pattern->kind)
	{
		case OF_TABLES:
			return object_is_there(conn, pattern->value, false);
		case OF_SCHEMAS:
			return object_is_there(conn, pattern->value, true);
		case OF_ROWS:
			return row_filter_is_there(conn, pattern->option, pattern->value);
		case OF_COLUMNS:
			return row_mask_is_there(conn, pattern->value);
		case N_KINDS:
			break;
	}
	return false;
}

/* Which of the patterns match there? */
static void
ask_database(const ClusterFilter *filter, const PeerAddress *address,
			 const Options *options, ClusterDatabase *database)
{
	PeerAddress there = *address;
	PGconn	   *conn;

	there.private_conninfo = cluster_list_conninfo(address, database->name);
	conn = connection_try_peer(&there, "pg_pardump");
	interrupt_set_connection(conn);
	interrupt_check();
	database->matches = pg_malloc0(filter->n + 1);
	if (PQstatus(conn) == CONNECTION_OK)
		session_set_up(conn, options, options->encoding);
	for (int i = 0; i < filter->n; i++)
		database->matches[i] = PQstatus(conn) != CONNECTION_OK ||
			pattern_is_there(conn, &filter->patterns[i]);
	interrupt_set_connection(NULL);
	session_close(conn);
	free(there.private_conninfo);
}

static bool
any_matches(const ClusterFilter *filter, const ClusterDatabase *database,
			PatternKind kind)
{
	for (int i = 0; i < filter->n; i++)
		if (filter->patterns[i].kind == kind && database->matches[i])
			return true;
	return false;
}

/* As for pg_dump, schemas are of no account where tables are named. */
static bool
has_anything(const ClusterFilter *filter, const ClusterDatabase *database)
{
	if (filter->given[OF_TABLES])
		return any_matches(filter, database, OF_TABLES);
	return !filter->given[OF_SCHEMAS] ||
		any_matches(filter, database, OF_SCHEMAS);
}

/* ----------
 * What none has
 * ----------
 */
static void
tell_missing(const ClusterPattern *pattern)
{
	/* what stands behind the colon may have a secret in it */
	int			len = (int) (identifier_skip(pattern->value, ':') - pattern->value);

	switch (pattern->kind)
	{
		case OF_TABLES:
			pg_log_error("no matching tables were found for pattern \"%s\" in any database",
						 pattern->value);
			break;
		case OF_SCHEMAS:
			pg_log_error("no matching schemas were found for pattern \"%s\" in any database",
						 pattern->value);
			break;
		case OF_ROWS:
			pg_log_error("no table of any database matches pattern \"%.*s\" of option %s",
						 len, pattern->value, pattern->option);
			break;
		case OF_COLUMNS:
			pg_log_error("no column of any database matches pattern \"%.*s\" of option %s",
						 len, pattern->value, pattern->option);
			break;
		case N_KINDS:
			break;
	}
}

/* Of tables and schemas one is enough, unless names are strict. */
static void
check_found(const ClusterFilter *filter)
{
	bool		any[N_KINDS] = {false};

	for (int i = 0; i < filter->n; i++)
		any[filter->patterns[i].kind] |= filter->patterns[i].found;
	for (int i = 0; i < filter->n; i++)
	{
		const ClusterPattern *pattern = &filter->patterns[i];
		bool		strict = filter->strict || pattern->kind == OF_ROWS ||
			pattern->kind == OF_COLUMNS;

		if (strict && !pattern->found)
			tell_missing(pattern);
	}
	if (filter->strict)
		return;
	if (filter->given[OF_TABLES] && !any[OF_TABLES])
		pg_log_error("no matching tables were found in any database");
	if (filter->given[OF_SCHEMAS] && !any[OF_SCHEMAS])
		pg_log_error("no matching schemas were found in any database");
}

ClusterFilter *
cluster_filter_read(PGconn *conn, const PeerAddress *address,
					ClusterList *list, const Options *options)
{
	ClusterFilter *filter = read_options(options);
	int			n_all = list->n;

	if (filter->n == 0)
		return filter;
	list->n = 0;
	for (int i = 0; i < n_all; i++)
	{
		ClusterDatabase *database = &list->databases[i];

		ask_database(filter, address, options, database);
		if (!has_anything(filter, database))
		{
			pg_log_info("leaving out database \"%s\", which has nothing of what the options name",
						database->name);
			continue;
		}
		for (int j = 0; j < filter->n; j++)
			filter->patterns[j].found |= database->matches[j];
		list->databases[list->n++] = *database;
	}
	interrupt_set_connection(conn);
	check_found(filter);
	return filter;
}

void
cluster_filter_add_args(const ClusterFilter *filter,
						const ClusterDatabase *database,
						SimpleStringList *args)
{
	for (int i = 0; i < filter->n; i++)
	{
		const ClusterPattern *pattern = &filter->patterns[i];
		bool		of_data = pattern->kind == OF_ROWS || pattern->kind == OF_COLUMNS;

		if (!database->matches[i] && !of_data)
			continue;
		simple_string_list_append(args, psprintf("%s=%s", pattern->option,
												 pattern->value));
		/* it may be there by now, and is not to be dumped as it is */
		if (!database->matches[i])
			table_pattern_note_missing(pattern->value);
	}
}

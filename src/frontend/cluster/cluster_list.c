/*
 * cluster_list.c
 *		Lists the databases of a cluster, and finds out what must be known
 *		before their runs begin.
 *
 * Databases are listed by size, so that the largest begins first.  Options
 * that name tables, rows or columns may match in some databases only.  So
 * each database is queried before the first run: an option that matches
 * nowhere must be an error before hours of work, and a --mask that matched
 * nothing without an error would publish what it should hide.
 *
 * The number of connections is checked here for all runs together, because
 * each run only sees its own.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"
#include "mb/pg_wchar.h"

#include "base/buffer.h"
#include "base/identifier.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "cluster/cluster_list.h"
#include "process/worker_process.h"
#include "session/session_settings.h"
#include "source/row_filter.h"
#include "source/row_mask.h"
#include "status/dry_run.h"

/* The condition for listed databases. */
#define LISTED_SQL \
"pg_catalog.pg_database d" \
" WHERE d.datallowconn AND d.datconnlimit OPERATOR(pg_catalog.<>) -2" \
" AND d.datname OPERATOR(pg_catalog.<>) 'template0'"

/*
 * A role may only query the size of a database if it may connect to it or
 * read all statistics.
 */
static const char list_query[] =
"SELECT d.oid, d.datname, CASE WHEN"
" pg_catalog.has_database_privilege(d.oid, 'CONNECT') OR EXISTS"
" (SELECT FROM pg_catalog.pg_roles r"
" WHERE r.rolname OPERATOR(pg_catalog.=) 'pg_read_all_stats'"
" AND pg_catalog.pg_has_role(r.oid, 'USAGE'))"
" THEN COALESCE(pg_catalog.pg_database_size(d.oid), 0) ELSE 0 END,"
" d.datistemplate OR d.datname OPERATOR(pg_catalog.=) 'template1'"
" FROM " LISTED_SQL
" ORDER BY 3 DESC, 2";

static const char names_query[] =
"SELECT d.oid, d.datname, 0, false FROM " LISTED_SQL;

/*
 * Names are read as bytes (client_encoding is SQL_ASCII): they are in the
 * encoding of the session that created the database, which the server does
 * not record.
 */
static ClusterList
read_list(PGconn *conn, const char *query)
{
	PGresult   *res = session_query(conn, query);
	ClusterList list = {.n = PQntuples(res)};

	list.databases = pg_malloc0((list.n + 1) * sizeof(ClusterDatabase));
	for (int i = 0; i < list.n; i++)
	{
		ClusterDatabase *database = &list.databases[i];

		database->oid = result_oid(res, i, 0);
		database->name = pg_strdup(PQgetvalue(res, i, 1));
		database->bytes = result_number(res, i, 2);
		database->is_template = result_is_true(res, i, 3);
	}
	PQclear(res);
	return list;
}

ClusterList
cluster_list_read(PGconn *conn, const Options *options)
{
	ClusterList list = read_list(conn, list_query);

	cluster_list_exclude(&list, conn, options);
	return list;
}

ClusterList
cluster_list_read_names(PGconn *conn)
{
	return read_list(conn, names_query);
}

/*
 * A name as a parameter of a query, owned.  A database in another encoding
 * may have a name with bytes that are not characters here, which the server
 * would refuse; patterns cannot match such bytes anyway.
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

void
cluster_list_add_name(PQExpBuffer names, const ClusterDatabase *database)
{
	units_names_add(names, psprintf("\"%s\"", database->name));
}

void
cluster_list_add_failed(PQExpBuffer names, const ClusterList *list)
{
	for (int i = 0; i < list->n; i++)
		if (list->databases[i].run_failed && !list->databases[i].with_errors)
			cluster_list_add_name(names, &list->databases[i]);
}

/* The positions in the list of the databases that the pattern matches. */
static PGresult *
match(const ClusterList *list, PGconn *conn, const char *pattern)
{
	char	  **names = pg_malloc((list->n + 1) * sizeof(char *));
	const char *params[1];
	PQExpBufferData sql = buffer_new();
	int			dots;

	for (int i = 0; i < list->n; i++)
		names[i] = name_for(conn, list->databases[i].name);
	params[0] = text_array(conn, names, list->n);
	appendPQExpBufferStr(&sql,
						 "SELECT d.place FROM pg_catalog.unnest($1::pg_catalog.text[])"
						 " WITH ORDINALITY d (datname, place)\n");
	processSQLNamePattern(conn, &sql, pattern, false, false, NULL,
						  "d.datname", NULL, NULL, NULL, &dots);
	if (dots > 0)
		pg_fatal("improper qualified name (too many dotted names): %s", pattern);
	appendPQExpBufferStr(&sql, " ORDER BY 1");
	return session_query_params(conn, sql.data, 1, params, 0);
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
			pg_log_error("database \"%s\" already exists on the target", name);
			any = true;
		}
	}
	if (any)
		pg_log_error_hint("Drop the databases to be replaced, or exclude them with --exclude-database.");
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
	PQExpBufferData text = buffer_new();

	/* The last value of a keyword counts. */
	appendPQExpBuffer(&text, "%s dbname=", address->private_conninfo);
	appendConnStrVal(&text, database);
	if (address->password)
	{
		appendPQExpBufferStr(&text, " password=");
		appendConnStrVal(&text, address->password);
	}
	return buffer_text(&text);
}

/* ----------
 * Options whose patterns must match in at least one database.
 * ----------
 */

typedef enum PatternKind
{
	OF_TABLES,					/* -t, also with children */
	OF_SCHEMAS,					/* -n */
	OF_ROWS,					/* --where, --sample */
	OF_COLUMNS,					/* --mask, also of a file */
	N_KINDS
} PatternKind;

typedef struct ClusterPattern
{
	PatternKind kind;
	const char *option;			/* including its dashes */
	const char *value;
	bool		found;			/* did it match in any database? */
} ClusterPattern;

struct ClusterFilter
{
	ClusterPattern *patterns;
	int			n;
	bool		given[N_KINDS]; /* is any of this kind given? */
	bool		strict;			/* --strict-names */
};

static void
add_list(ClusterFilter *filter, PatternKind kind, const char *option,
		 const SimpleStringList *values)
{
	for (const SimpleStringListCell *cell = values->head; cell; cell = cell->next)
	{
		*array_add(filter->patterns, filter->n) = (ClusterPattern)
		{
			.kind = kind,.option = option,.value = cell->val
		};
		filter->given[kind] = true;
	}
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
 * Matches in a database
 * ----------
 */

/*
 * Does the pattern match?  The rules are those of pg_dump
 * (expand_table_name_patterns and the same for schemas), but naming a table
 * of another database is not an error.
 */
static bool
object_is_there(PGconn *conn, const char *pattern, bool is_schema)
{
	const char *from = is_schema ?
		"SELECT FROM pg_catalog.pg_namespace n WHERE true" :
		"SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n"
		" ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
		" WHERE c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'S', 'v', 'm', 'f', 'p', 'g'])";
	PQExpBufferData sql = buffer_new();
	PQExpBufferData dbname = buffer_new();
	PGresult   *res;
	bool		result;
	int			dots;

	appendPQExpBuffer(&sql, "%s\n", from);
	processSQLNamePattern(conn, &sql, pattern, true, false,
						  is_schema ? NULL : "n.nspname",
						  is_schema ? "n.nspname" : "c.relname", NULL,
						  is_schema ? NULL : "pg_catalog.pg_table_is_visible(c.oid)",
						  &dbname, &dots);
	if (dots > (is_schema ? 0 : 2))
		pg_fatal(is_schema ?
				 "improper qualified name (too many dotted names): %s" :
				 "improper relation name (too many dotted names): %s", pattern);
	appendPQExpBufferStr(&sql, " LIMIT 1");

	/*
	 * Unqualified names match tables that the user's own search_path finds.
	 */
	session_command(conn, "RESET search_path");
	res = session_query(conn, sql.data);
	result = PQntuples(res) > 0 &&
		(dots < 2 || strcmp(dbname.data, PQdb(conn)) == 0);
	PQclear(res);
	PQclear(session_query(conn, "SELECT pg_catalog.set_config('search_path', '', false)"));
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

/*
 * Find the patterns that match in this database.  If it cannot be queried,
 * all count as matching: its run will fail, and report why.
 */
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
	cluster_session_close(conn);
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

/*
 * Does the database contain anything that the options select?  As in pg_dump,
 * schemas are ignored if tables are named.
 */
static bool
has_anything(const ClusterFilter *filter, const ClusterDatabase *database)
{
	if (filter->given[OF_TABLES])
		return any_matches(filter, database, OF_TABLES);
	return !filter->given[OF_SCHEMAS] ||
		any_matches(filter, database, OF_SCHEMAS);
}

/* ----------
 * Patterns without a match
 * ----------
 */
static void
report_missing(const ClusterPattern *pattern)
{
	/* The text after the colon may contain a secret. */
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
			pg_log_error("pattern \"%.*s\" of option %s matches no table of any database",
						 len, pattern->value, pattern->option);
			break;
		case OF_COLUMNS:
			pg_log_error("pattern \"%.*s\" of option %s matches no column of any database",
						 len, pattern->value, pattern->option);
			break;
		case N_KINDS:
			break;
	}
}

/*
 * Report patterns without a match.  For tables and schemas, one match of all
 * patterns is enough unless --strict-names is used.
 */
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
			report_missing(pattern);
	}
	if (filter->strict)
		return;
	if (filter->given[OF_TABLES] && !any[OF_TABLES])
		pg_log_error("no matching tables were found in any database");
	if (filter->given[OF_SCHEMAS] && !any[OF_SCHEMAS])
		pg_log_error("no matching schemas were found in any database");
}

/*
 * Databases without anything that the options name are removed from the list.
 * The others note which options they get.
 */
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
			pg_log_info("excluding database \"%s\": it contains nothing that the options name",
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

/*
 * A table or schema that does not match is not passed on, as pg_dump would
 * fail.  A mask or condition always is: if its table appears before the
 * database's turn, the rows must not be dumped unmasked.
 */
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
		/* The table may exist by now, and must not be dumped unfiltered. */
		if (!database->matches[i])
			table_pattern_note_missing(pattern->value);
	}
}

/* ----------
 * Connects to a cluster.
 * ----------
 */

/* Does this connection string or name determine the database? */
static bool
names_database(const char *text)
{
	PQconninfoOption *options;
	bool		result = false;

	if (text == NULL || text[0] == '\0')
		return false;
	if (!identifier_is_conninfo(text))
		return true;
	/* If it is invalid the connection will fail, too. */
	options = PQconninfoParse(text, NULL);
	for (PQconninfoOption *option = options; option && option->keyword; option++)
		if (strcmp(option->keyword, "dbname") == 0 && option->val && option->val[0])
			result = true;
	PQconninfoFree(options);
	return result;
}

void
cluster_session_set_up(PGconn *conn)
{
	session_set_encoding(conn, "SQL_ASCII");
	session_end_timeouts(conn);
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
	cluster_session_set_up(conn);
	return conn;
}

PGconn *
cluster_session_open_again(const PeerAddress *address, const char *progname)
{
	PGconn	   *conn = connection_open_peer(address, progname);

	session_command_settings(conn, SESSION_SET("search_path", ""));
	cluster_session_set_up(conn);
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
	/* The user has already been asked for a password. */
	simple_string_list_append(args, "-w");
	simple_string_list_append(args, psprintf("--jobs=%d", options->jobs));
	simple_string_list_append(args, "--no-progress");
	simple_string_list_append(args, "-d");
	simple_string_list_append(args, conninfo);
}

/* ----------
 * The connections for the runs of all databases.
 * ----------
 */

/* The source or the target of the runs. */
typedef struct ClusterSide
{
	int			own;			/* sessions of a run in addition to those of
								 * its workers */
	int			own_of_one;		/* the same if there is one job */
	int			more;			/* sessions besides all runs */
} ClusterSide;

/*
 * The sessions of the leader, of pg_dump, and the one that looks for changed
 * tables (leader.c).  pg_dump ends before the first worker begins; with one
 * job, the third session is opened after pg_dump has ended.
 */
static const ClusterSide source_side = {2, 1, 0};

/* The sessions of the leader, and of the journal or pg_restore. */
static const ClusterSide target_side = {2, 2, 0};

/*
 * The number of sessions that all runs together can have at a time: workers
 * share one budget (worker_slots.h), but each run has a leader of its own.
 */
static int
needed_by(const ClusterSide *side, int jobs, int n_databases)
{
	return jobs + side->more + Min(jobs, n_databases) *
		(jobs > 1 ? side->own : side->own_of_one);
}

/*
 * Returns false if an error was reported.  at_least and at_most differ if the
 * role cannot see the kinds of other sessions; this session itself ends
 * before the runs, so its place counts as free.
 */
static bool
check_connections(PGconn *conn, const ClusterSide *side, int jobs,
				  int n_databases)
{
	/* Limits of databases differ, and are checked separately. */
	ConnectionsLeft connections = connection_limit_left(conn, false);
	int			needed = needed_by(side, jobs, n_databases);
	int			n_runs = Min(jobs, n_databases);

	/* This session's place will be free, too. */
	int			at_most = Min(connections.at_most, PG_INT32_MAX - 1) + 1;
	int			at_least = Min(connections.at_least, PG_INT32_MAX - 1) + 1;

	if (n_runs == 0 || at_least >= needed)
		return true;
	if (at_most >= needed)
	{
		connection_limit_report_hidden(conn, at_least, needed);
		return true;
	}
	connection_limit_report(PG_LOG_ERROR, conn, &connections, at_most, needed);
	pg_log_error_detail(ngettext("The run needs %d connection for jobs, and %d for databases (%d at a time).",
								 "The run needs %d connections for jobs, and %d for databases (%d at a time).",
								 jobs),
						jobs, needed - jobs, n_runs);
	while (jobs > 0 && needed_by(side, jobs, n_databases) > at_most)
		jobs--;
	connection_limit_hint(PG_LOG_ERROR, conn, &connections, jobs);
	return false;
}

/*
 * The connections that the limits of databases leave, according to the
 * sessions that the role can see, including the place of this session, which
 * ends before the runs.  Superusers have no limit.
 */
static const char database_limits_query[] =
"SELECT d.oid, GREATEST(0, d.datconnlimit OPERATOR(pg_catalog.-) (SELECT pg_catalog.count(*)"
" FROM pg_catalog.pg_stat_activity a WHERE a.datid OPERATOR(pg_catalog.=) d.oid"
" AND a.backend_type OPERATOR(pg_catalog.=) 'client backend'"
" AND a.pid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()))"
" FROM pg_catalog.pg_database d, pg_catalog.pg_roles r"
" WHERE r.rolname OPERATOR(pg_catalog.=) session_user AND NOT r.rolsuper"
" AND d.datconnlimit OPERATOR(pg_catalog.>=) 0";

/*
 * Check the limits of databases.  Fewer workers than jobs can do the work.
 * But with several jobs, the leader's second session may take a place before
 * pg_dump has connected.
 */
static void
check_databases(PGconn *conn, const ClusterSide *side, int jobs,
				const ClusterList *list)
{
	ClusterSide of_one = *side;
	int			needed;
	PGresult   *res = session_query(conn, database_limits_query);

	of_one.more = 1;
	needed = needed_by(&of_one, 1, 1) + (jobs > 1 ? 1 : 0);
	for (int i = 0; i < PQntuples(res); i++)
	{
		int			left = session_number(res, i, 1, 0, PG_INT32_MAX);

		for (int j = 0; j < list->n && left < needed; j++)
		{
			if (list->databases[j].oid != result_oid(res, i, 0))
				continue;
			pg_log_error("database \"%s\" has only %d of %d needed connections left",
						 printable(list->databases[j].name), left, needed);
			pg_log_error_hint("Run ALTER DATABASE %s CONNECTION LIMIT -1; or exclude the database with --exclude-database.",
							  printable(fmtId(list->databases[j].name)));
		}
	}
	PQclear(res);
}

/* The source; with --cluster-snapshot, each database has a guard. */
static ClusterSide
source_of(const Options *options, const ClusterList *list)
{
	ClusterSide side = source_side;

	side.more = options->cluster_snapshot ? list->n : 0;
	return side;
}

void
cluster_check_source(PGconn *conn, const Options *options,
					 const ClusterList *list)
{
	ClusterSide side = source_of(options, list);
	int			jobs = options->jobs;
	int			at_a_time = options->shared_snapshot ? Min(list->n, 1) : list->n;

	(void) worker_processes_have_files(jobs, side.more);
	(void) check_connections(conn, &side, jobs, at_a_time);
	if (options->cluster_snapshot)
		check_databases(conn, &side, jobs, list);
}

/* The number of indexes that are built at a time. */
static int
builds_of(const Options *options)
{
	return options->index_jobs ? (int) options->index_jobs : options->jobs;
}

/*
 * Warn if there is no room for index builds, which have separate sessions
 * (worker_slots.h).  An index whose session cannot connect is left out.  This
 * is a warning, because there may be no indexes at all.
 */
static void
check_builds(PGconn *conn, int jobs, int builds, int n_databases)
{
	int			n_runs = Min(jobs, n_databases);
	int			sessions = needed_by(&target_side, jobs, n_databases);
	int			needed = sessions + builds;
	ConnectionsLeft connections = connection_limit_left(conn, false);
	int			left = Min(connections.at_most, PG_INT32_MAX - 1) + 1;

	if (n_databases == 0 || left >= needed)
		return;
	connection_limit_report(PG_LOG_WARNING, conn, &connections, left, needed);
	pg_log_warning_detail(ngettext("The run needs %d connection for jobs, %d for databases (%d at a time), and %d for index builds.",
								   "The run needs %d connections for jobs, %d for databases (%d at a time), and %d for index builds.",
								   jobs),
						  jobs, sessions - jobs, n_runs, builds);
	pg_log_warning_hint(CONNECTIONS_BUILDS_HINT);
}

void
cluster_check_target(PGconn *conn, const Options *options, int n_databases)
{
	int			jobs = options->jobs;
	int			builds = builds_of(options);

	(void) worker_processes_have_files(jobs, 0);
	if (check_connections(conn, &target_side, jobs, n_databases))
		check_builds(conn, jobs, builds, n_databases);
}

char *
cluster_source_connections(PGconn *conn, const Options *options,
						   const ClusterList *list)
{
	ClusterSide side = source_of(options, list);
	ConnectionsLeft left = connection_limit_left(conn, false);

	return dry_run_connections(CONNECTIONS_SOURCE_AT_MOST,
							   needed_by(&side, options->jobs, list->n), &left);
}

char *
cluster_target_connections(PGconn *conn, const Options *options,
						   const ClusterList *list)
{
	ConnectionsLeft left = connection_limit_left(conn, false);

	return dry_run_connections(CONNECTIONS_TARGET_AT_MOST,
							   needed_by(&target_side, options->jobs, list->n) +
							   builds_of(options), &left);
}

void
cluster_list_show(const ClusterList *list, const char *format,
				  PGconn *target, const char *globals)
{
	uint64		bytes = 0;

	for (int i = 0; i < list->n; i++)
		bytes += list->databases[i].bytes;
	findings_note(psprintf(format, list->n, units_size(bytes)));
	findings_note(psprintf("  target: %s", connection_server_name(target)));
	findings_note(psprintf("  global objects: %s", globals));
}

/*
 * The run of a database could only be checked if the roles that it requires
 * existed on the target.
 */
void
cluster_list_show_copy(PGconn *target, const Options *options,
					   const ClusterList *list, const char *globals,
					   const char *source_connections)
{
	cluster_list_show(list, ngettext("A run would copy %d database, %s with indexes:",
									 "A run would copy %d databases, %s with indexes:",
									 list->n), target, globals);
	findings_note(psprintf("  jobs: %d", options->jobs));
	findings_note(source_connections);
	findings_note(cluster_target_connections(target, options, list));
	if (options->cluster_snapshot)
		findings_note("  snapshot of all databases: can be taken");
	findings_note("  not checked: databases; extensions, tablespaces and privileges of the target");
}

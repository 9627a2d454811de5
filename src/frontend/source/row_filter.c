/*
 * row_filter.c
 *		--where and --sample: tables of which only some rows are dumped.
 *
 * A filter becomes part of the query that reads a table or a chunk, so
 * filtered tables can be split like others.  That is why --sample does not
 * use TABLESAMPLE, which would scan the whole table for every chunk.  Instead
 * a hash of a row's position in the table decides whether the row is chosen.
 * Like TABLESAMPLE BERNOULLI this chooses each row independently, and it does
 * not depend on the kind of scan.
 */
#include "base/fe_compat.h"

#include <math.h>

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/identifier.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "session/session.h"
#include "session/session_lost.h"
#include "source/row_filter.h"

/* ----------
 * Options for the tables, or columns, that match a pattern.
 * ----------
 */

/* The number of tables that a hint names. */
#define HINTS_SHOWN 3

/* Arguments that matched nothing in any database, for this process. */
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
		pg_fatal_hint("Use %s.", form);
	}
	if (has_column)
	{
		result.column = pg_strdup(dot + 1);
		*dot = '\0';
	}
	result.value = pos + 1;
	return result;
}

/*
 * Append the pattern's condition.  Returns false if the pattern names another
 * database.
 */
static bool
append_table(PGconn *conn, PQExpBuffer sql, const TablePattern *pattern)
{
	PQExpBufferData dbname = buffer_new();
	int			dots;

	processSQLNamePattern(conn, sql, pattern->table, true, false,
						  "n.nspname", "c.relname", NULL,
						  "pg_catalog.pg_table_is_visible(c.oid)",
						  &dbname, &dots);
	if (dots > 2)
		pg_fatal("improper relation name (too many dotted names) for option %s: %s",
				 pattern->option, pattern->table);
	return dots < 2 || strcmp(dbname.data, PQdb(conn)) == 0;
}

PGresult *
table_pattern_query(PGconn *conn, const TablePattern *pattern, bool children,
					const char *query)
{
	PQExpBufferData sql = buffer_new();
	PGresult   *res;
	int			dots;

	appendPQExpBufferStr(&sql,
						 "WITH RECURSIVE matching (oid, relkind) AS (("
						 "SELECT c.oid, c.relkind FROM pg_catalog.pg_class c"
						 " LEFT JOIN pg_catalog.pg_namespace n"
						 " ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
						 " WHERE c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'f', 'p'])\n");
	if (!append_table(conn, &sql, pattern))
		pg_fatal("cross-database references are not implemented: %s",
				 pattern->table);
	appendPQExpBuffer(&sql, ") UNION SELECT c.oid, c.relkind FROM matching m"
					  " JOIN pg_catalog.pg_inherits i"
					  " ON i.inhparent OPERATOR(pg_catalog.=) m.oid"
					  " JOIN pg_catalog.pg_class c"
					  " ON c.oid OPERATOR(pg_catalog.=) i.inhrelid%s) %s ",
					  children ? "" :
					  " WHERE m.relkind OPERATOR(pg_catalog.=) 'p'", query);
	if (pattern->column)
		processSQLNamePattern(conn, &sql, pattern->column, true, false, NULL,
							  "a.attname", NULL, NULL, NULL, &dots);
	appendPQExpBufferStr(&sql, " ORDER BY 1");

	/*
	 * Unqualified names match tables that the user's own search_path finds.
	 */

	/*
	 * Only this query runs with the user's search path.  All names in it are
	 * qualified, so no object of another role can take their place.
	 */
	session_command(conn, "RESET search_path");
	res = session_query(conn, sql.data);
	PQclear(session_query(conn, "SELECT pg_catalog.set_config('search_path', '', false)"));
	return res;
}

bool
table_pattern_is_elsewhere(PGconn *conn, const TablePattern *pattern)
{
	PQExpBufferData unused = buffer_new();

	return !append_table(conn, &unused, pattern);
}

/*
 * Run a query that selects "what" from each matching table that is not a
 * system table, or from each of its matching columns if the pattern has a
 * column.  condition is empty or ends with AND.
 */
static PGresult *
query_matching(PGconn *conn, const TablePattern *pattern, bool children,
			   const char *what, const char *condition)
{
	static const char columns[] =
		" JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) m.oid"
		" AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped";
	static const char format[] =
		"SELECT %s FROM matching m"
		" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) m.oid"
		" JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) c.relnamespace%s"
		" WHERE %s s.nspname OPERATOR(pg_catalog.!~) '^pg_'"
		" AND s.nspname OPERATOR(pg_catalog.<>) 'information_schema'";

	return table_pattern_query(conn, pattern, children,
							   psprintf(format, what, pattern->column ? columns : "",
										condition));
}

bool
table_pattern_is_there(PGconn *conn, const TablePattern *pattern)
{
	return !table_pattern_is_elsewhere(conn, pattern) &&
		PQntuples(query_matching(conn, pattern, true, "m.oid", "")) > 0;
}

void
table_pattern_check_condition(const TablePattern *pattern, const DumpTable *table)
{
	if (table->condition == NULL)
		return;
	pg_log_error("option %s cannot be used for table %s", pattern->option,
				 printable(table->name));
	pg_log_error_detail("The table is a configuration table of an extension, which has a filter condition of its own (pg_extension_config_dump).");
	pg_fatal_hint("Use a pattern that does not match this table.");
}

bool
table_pattern_hint(PGconn *conn, const TablePattern *pattern)
{
	static const char names_sql[] =
		"DISTINCT pg_catalog.quote_ident(s.nspname) OPERATOR(pg_catalog.||) '.'"
		" OPERATOR(pg_catalog.||) pg_catalog.quote_ident(c.relname)";
	TablePattern anywhere = *pattern;
	PGresult   *res;
	PQExpBufferData names = buffer_new();
	int			n;

	if (identifier_last(pattern->table, '.') != NULL)
		return false;
	anywhere.table = psprintf("*.%s", pattern->table);
	res = query_matching(conn, &anywhere, false, names_sql,
						 "NOT pg_catalog.pg_table_is_visible(c.oid) AND");
	n = PQntuples(res);
	for (int i = 0; i < Min(n, HINTS_SHOWN); i++)
		units_names_add(&names, PQgetvalue(res, i, 0));
	PQclear(res);
	if (n > 0)
	{
		pg_log_error_detail("Tables of this name that are not in your search_path: %s.",
							units_names(names.data, n, HINTS_SHOWN));
		pg_log_error_hint("Specify the table with its schema.");
	}
	return n > 0;
}

TableRows
table_pattern_rows(const PGresult *res, Oid oid)
{
	TableRows	rows = {0};
	int			end = PQntuples(res);

	while (rows.first < end)
	{
		int			middle = rows.first + (end - rows.first) / 2;

		if (result_oid(res, middle, 0) < oid)
			rows.first = middle + 1;
		else
			end = middle;
	}
	while (rows.first + rows.n < PQntuples(res) &&
		   result_oid(res, rows.first + rows.n, 0) == oid)
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

/* ----------
 * SQL expressions of the user, which the server checks.
 *
 * The text must be one expression.  Text that closes the parenthesis around
 * it could change the statement.  So the server parses it in parentheses and
 * in brackets: text that closes one of them is an error in the other.  A
 * newline after it ends a comment at its end.
 * ----------
 */

#define SQLSTATE_DATATYPE_MISMATCH "42804"
#define SQLSTATE_UNDEFINED_TABLE "42P01"
#define SQLSTATE_UNDEFINED_FUNCTION "42883"
#define SQLSTATE_UNDEFINED_OBJECT "42704"

void
expression_check(PGconn *conn, const char *sql, const char *problem,
				 const char *mismatch)
{
	PGresult   *res = PQprepare(conn, "", sql, 0, NULL);
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	const char *words = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

	if (PQresultStatus(res) == PGRES_COMMAND_OK)
	{
		PQclear(res);
		res = PQdescribePrepared(conn, "");
		if (PQresultStatus(res) == PGRES_COMMAND_OK && PQnparams(res) == 0)
		{
			PQclear(res);
			return;
		}
		sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
		words = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
	}
	interrupt_check();
	if (session_is_lost(conn, res))
		session_failed(conn, res, "query failed", sql);
	message_set_sqlstate(sqlstate);
	pg_log_error("%s", problem);
	if (PQresultStatus(res) == PGRES_COMMAND_OK)
		pg_log_error_detail("Parameters are not supported.");
	else if (mismatch && sqlstate &&
			 strcmp(sqlstate, SQLSTATE_DATATYPE_MISMATCH) == 0)
		pg_log_error_detail("%s", mismatch);
	else
		pg_log_error_detail("%s", words ? words : PQerrorMessage(conn));
	if (sqlstate && (strcmp(sqlstate, SQLSTATE_UNDEFINED_TABLE) == 0 ||
					 strcmp(sqlstate, SQLSTATE_UNDEFINED_FUNCTION) == 0 ||
					 strcmp(sqlstate, SQLSTATE_UNDEFINED_OBJECT) == 0))
		pg_log_error_hint("Expressions are evaluated with an empty search_path.  Qualify names that are not in pg_catalog with their schema.");
	exit(1);
}

/* ----------
 * --where and --sample.
 * ----------
 */

/* PostgreSQL 14 added hash functions for ctid. */
#define MIN_SERVER_FOR_SAMPLES 140000

/* The number of bits of the hash that are compared with the limit. */
#define SAMPLE_BITS 32

/* Add a condition, which rows must meet in addition to others. */
static void
add_filter(DumpTable *table, const char *condition)
{
	table->filter = table->filter ? psprintf("%s AND %s", table->filter, condition)
		: pg_strdup(condition);
}

/* Add a condition, which must be one expression. */
static void
add_condition(PGconn *conn, DumpTable *table, const char *condition)
{
	char	   *in_parentheses = psprintf("(%s\n)", condition);
	char	   *problem = psprintf("invalid condition for table %s: %s",
								   printable(table->name), condition);

	/*
	 * Check it in brackets and in parentheses: text that closes one of them,
	 * to add something after it, is an error in the other.
	 */
	expression_check(conn, psprintf("SELECT ARRAY[%s\n] FROM ONLY %s", condition, table->name),
					 problem, NULL);
	expression_check(conn, psprintf("SELECT FROM ONLY %s WHERE %s", table->name, in_parentheses),
					 problem, NULL);
	add_filter(table, in_parentheses);
	table->where = table->where ? psprintf("(%s) AND (%s)", table->where, condition)
		: pg_strdup(condition);
}

/*
 * Parse a percentage of the form that TABLESAMPLE takes: 0 to 100, with
 * decimals.
 */
static double
parse_percent(const char *text)
{
	char	   *end;
	double		percent;

	errno = 0;
	percent = strtod(text, &end);
	if (end == text || *end != '\0' || errno != 0 ||
		strspn(text, "0123456789.") != strlen(text) || percent > 100)
	{
		pg_log_error("invalid value \"%s\" for option %s", text, "--sample");
		pg_fatal_hint("Specify a percentage from 0 to 100, with or without decimals.");
	}
	return percent;
}

/*
 * The table's OID is the seed of the hash, so that in each table other
 * positions are chosen.
 */
static void
add_sample(DumpTable *table, const char *text)
{
	double		percent = parse_percent(text);

	/* 100 percent is 2^32, which is greater than all 32-bit hashes. */
	uint64		limit = (uint64) rint(ldexp(percent / 100, SAMPLE_BITS));

	if (table->sample)
	{
		pg_log_error("table %s matches more than one option %s",
					 printable(table->name), "--sample");
		pg_fatal_hint("Specify only one pattern that matches the table.");
	}
	add_filter(table, psprintf("(pg_catalog.hashtidextended(ctid, %u) OPERATOR(pg_catalog.&) %llu)"
							   " OPERATOR(pg_catalog.<) " UINT64_FORMAT "::pg_catalog.int8",
							   table->oid, (1ULL << SAMPLE_BITS) - 1, limit));
	table->sample = pg_strdup(text);
}

static TablePattern
split(const char *option, const char *arg)
{
	const char *form = strcmp(option, "--sample") == 0 ?
		"TABLE:PERCENT, for example \"orders:10\"" :
		"TABLE:CONDITION, for example \"orders:total > 100\"";

	return table_pattern_split(option, form, arg, false);
}

static void
apply_argument(PGconn *conn, const Options *options, DumpTables *tables,
			   const char *option, const char *arg, bool sample)
{
	TablePattern pattern = split(option, arg);
	PGresult   *oids;
	int			n_matched = 0;

	if (options->one_of_all && table_pattern_is_elsewhere(conn, &pattern))
		return;

	/*
	 * Partitions of a matching table are included, but not children of
	 * ordinary inheritance, which ONLY excludes.
	 */
	oids = table_pattern_query(conn, &pattern, false,
							   "SELECT oid FROM matching");
	for (int i = 0; i < tables->n_tables; i++)
	{
		if (table_pattern_rows(oids, tables->tables[i].oid).n == 0)
			continue;
		table_pattern_check_condition(&pattern, &tables->tables[i]);
		if (sample && tables->tables[i].relkind != RELKIND_RELATION)
			pg_fatal("option %s cannot be used for foreign table %s",
					 pattern.option, printable(tables->tables[i].name));
		if (sample)
			add_sample(&tables->tables[i], pattern.value);
		else
			add_condition(conn, &tables->tables[i], pattern.value);
		pg_log_info("dumping only part of table %s: %s", printable(tables->tables[i].name),
					tables->tables[i].filter);
		n_matched++;
	}
	PQclear(oids);
	if (n_matched == 0 &&
		!(options->one_of_all && (table_pattern_was_missing(arg) ||
								  table_pattern_is_there(conn, &pattern))))
	{
		pg_log_error("pattern \"%s\" of option %s matches no table whose rows are dumped",
					 pattern.table, option);
		(void) table_pattern_hint(conn, &pattern);
		exit(1);
	}
}

void
row_filters_apply(PGconn *conn, const Options *options, DumpTables *tables)
{
	if (options->sample.head && PQserverVersion(conn) < MIN_SERVER_FOR_SAMPLES)
		pg_fatal("option %s requires a server of PostgreSQL %d or newer",
				 "--sample", MIN_SERVER_FOR_SAMPLES / 10000);
	for (const SimpleStringListCell *cell = options->where.head; cell;
		 cell = cell->next)
		apply_argument(conn, options, tables, "--where", cell->val, false);
	for (const SimpleStringListCell *cell = options->sample.head; cell;
		 cell = cell->next)
		apply_argument(conn, options, tables, "--sample", cell->val, true);
}

bool
row_filter_is_there(PGconn *conn, const char *option, const char *arg)
{
	TablePattern pattern = split(option, arg);

	return table_pattern_is_there(conn, &pattern);
}

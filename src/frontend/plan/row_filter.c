/*
 * row_filter.c
 *		--where and --sample: tables of which not all rows are dumped.
 *
 * A filter becomes part of the query that reads a table or a chunk, so tables
 * that have one can be split as others.  That is why --sample does not use
 * TABLESAMPLE, which would scan the whole table for every chunk: a row is
 * chosen by a hash of its place in the table, which is the same choice as
 * that of TABLESAMPLE BERNOULLI, each row by itself, in any way of scanning.
 *
 * A condition must be one expression.  Text that ends the parenthesis around
 * it could change the statement in ways nobody has in mind, so it is parsed
 * in parentheses and in brackets: what closes the one is an error in the
 * other.
 */
#include "base/fe_compat.h"

#include <math.h>

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"

#include "base/identifier.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "plan/row_filter.h"
#include "session/session.h"
#include "session/session_loss.h"

/* hash functions of ctid came with 14 */
#define MIN_SERVER_FOR_SAMPLES 140000

/* A hash is of so many bits, and so is what it is compared with. */
#define SAMPLE_BITS 32

/* What a pattern is for, to be named in messages. */
typedef struct TableArgument
{
	const char *option;
	char	   *pattern;
	const char *value;			/* condition or percentage */
} TableArgument;

/* TABLE:VALUE, cut at the first colon that is not quoted; form says it so. */
static TableArgument
split_argument(const char *option, const char *form, const char *arg)
{
	TableArgument result = {.option = option};
	const char *pos = identifier_skip(arg, ':');

	if (*pos == '\0' || pos == arg || pos[1] == '\0')
	{
		pg_log_error("invalid value \"%s\" for option %s", arg, option);
		pg_log_error_hint("The form is %s.", form);
		exit(1);
	}
	result.pattern = pnstrdup(arg, pos - arg);
	result.value = pos + 1;
	return result;
}

/* ----------
 * Which tables
 * ----------
 */

/*
 * The OIDs of the relations that a pattern matches, as -t does in pg_dump,
 * and of the partitions of those that are partitioned, where their rows are.
 */
static PGresult *
matching_relations(PGconn *conn, const TableArgument *argument)
{
	PQExpBufferData sql;
	PQExpBufferData dbname;
	PGresult   *res;
	int			dots;

	initPQExpBuffer(&sql);
	initPQExpBuffer(&dbname);
	appendPQExpBufferStr(&sql,
						 "WITH RECURSIVE matching (oid, relkind) AS (("
						 "SELECT c.oid, c.relkind FROM pg_catalog.pg_class c"
						 " LEFT JOIN pg_catalog.pg_namespace n"
						 " ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
						 " WHERE c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'f', 'p'])\n");
	processSQLNamePattern(conn, &sql, argument->pattern, true, false,
						  "n.nspname", "c.relname", NULL,
						  "pg_catalog.pg_table_is_visible(c.oid)",
						  &dbname, &dots);
	if (dots > 2 || (dots == 2 && strcmp(dbname.data, PQdb(conn)) != 0))
		pg_fatal("improper relation name for option %s: %s",
				 argument->option, argument->pattern);
	appendPQExpBufferStr(&sql, ") UNION SELECT c.oid, c.relkind FROM matching m"
						 " JOIN pg_catalog.pg_inherits i"
						 " ON i.inhparent OPERATOR(pg_catalog.=) m.oid"
						 " JOIN pg_catalog.pg_class c"
						 " ON c.oid OPERATOR(pg_catalog.=) i.inhrelid"
						 " WHERE m.relkind OPERATOR(pg_catalog.=) 'p')"
						 " SELECT oid FROM matching");
	/* visible are the tables that the user's own search path shows */
	session_command(conn, "RESET search_path");
	res = session_query(conn, sql.data);
	PQclear(session_query(conn, "SELECT pg_catalog.set_config('search_path', '', false)"));
	termPQExpBuffer(&sql);
	termPQExpBuffer(&dbname);
	return res;
}

static bool
has_oid(const PGresult *oids, Oid oid)
{
	for (int i = 0; i < PQntuples(oids); i++)
		if ((Oid) strtoul(PQgetvalue(oids, i, 0), NULL, 10) == oid)
			return true;
	return false;
}

/* ----------
 * Their filters
 * ----------
 */

/* Another condition that rows must meet as well. */
static void
add_filter(DumpTable *table, const char *condition)
{
	char	   *before = table->filter;

	table->filter = before ? psprintf("%s AND %s", before, condition)
		: pg_strdup(condition);
	free(before);
}

/* Parse a statement, without parameters, and do no more with it. */
static void
check_statement(PGconn *conn, const DumpTable *table, const char *condition,
				const char *sql)
{
	PGresult   *res = PQprepare(conn, "", sql, 0, NULL);

	if (PQresultStatus(res) == PGRES_COMMAND_OK)
	{
		PQclear(res);
		res = PQdescribePrepared(conn, "");
		if (PQresultStatus(res) == PGRES_COMMAND_OK && PQnparams(res) == 0)
		{
			PQclear(res);
			return;
		}
	}
	interrupt_check();
	if (session_is_lost(conn, res))
		session_failed(conn, res, "query failed", sql);
	message_set_sqlstate(PQresultErrorField(res, PG_DIAG_SQLSTATE));
	pg_log_error("invalid condition for table %s: %s",
				 printable(table->name), condition);
	if (PQresultStatus(res) == PGRES_COMMAND_OK)
		pg_log_error_detail("It has parameters.");
	else
		pg_log_error_detail("%s", PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY)
							? PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY)
							: PQerrorMessage(conn));
	pg_log_error_hint("search_path is empty: qualify what is not in pg_catalog by its schema.");
	exit(1);
}

/* The newline ends a comment that the condition may end in. */
static void
add_condition(PGconn *conn, DumpTable *table, const char *condition)
{
	char	   *in_parentheses = psprintf("(%s\n)", condition);
	char	   *sql;

	sql = psprintf("SELECT ARRAY[%s\n] FROM ONLY %s", condition, table->name);
	check_statement(conn, table, condition, sql);
	free(sql);
	sql = psprintf("SELECT FROM ONLY %s WHERE %s", table->name, in_parentheses);
	check_statement(conn, table, condition, sql);
	free(sql);
	add_filter(table, in_parentheses);
	free(in_parentheses);
	table->where = table->where ? psprintf("(%s) AND (%s)", table->where, condition)
		: pg_strdup(condition);
}

/* Percentages as TABLESAMPLE takes them: 0 to 100, with decimals. */
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
		pg_log_error("invalid percentage \"%s\" for option %s", text, "--sample");
		pg_log_error_hint("It is a number from 0 to 100, which may have decimals.");
		exit(1);
	}
	return percent;
}

/* The table's OID is the seed: tables' choices are not alike. */
static void
add_sample(DumpTable *table, const char *text)
{
	double		percent = parse_percent(text);
	uint64		limit = (uint64) rint(ldexp(percent / 100, SAMPLE_BITS));
	char	   *condition;

	if (table->sample)
		pg_fatal("table %s is matched by several options %s",
				 printable(table->name), "--sample");
	condition = psprintf("(pg_catalog.hashtidextended(ctid, %u) OPERATOR(pg_catalog.&) %llu)"
						 " OPERATOR(pg_catalog.<) " UINT64_FORMAT "::pg_catalog.int8",
						 table->oid, (1ULL << SAMPLE_BITS) - 1, limit);
	add_filter(table, condition);
	free(condition);
	table->sample = pg_strdup(text);
}

static void
apply_to_table(PGconn *conn, DumpTable *table, const TableArgument *argument,
			   bool sample)
{
	if (table->condition)
		pg_fatal("option %s is not for table %s, an extension's configuration table with a condition",
				 argument->option, printable(table->name));
	if (sample && table->relkind != RELKIND_RELATION)
		pg_fatal("option %s is not for foreign table %s", argument->option,
				 printable(table->name));
	if (sample)
		add_sample(table, argument->value);
	else
		add_condition(conn, table, argument->value);
	pg_log_info("table %s is dumped in part: %s", printable(table->name),
				table->filter);
}

static void
apply_argument(PGconn *conn, DumpTables *tables, const char *option,
			   const char *arg, bool sample)
{
	const char *form = sample ? "TABLE:PERCENT, e.g. \"orders:10\""
		: "TABLE:CONDITION, e.g. \"orders:total > 100\"";
	TableArgument argument = split_argument(option, form, arg);
	PGresult   *oids = matching_relations(conn, &argument);
	int			n_matched = 0;

	for (int i = 0; i < tables->n_tables; i++)
	{
		if (!has_oid(oids, tables->tables[i].oid))
			continue;
		apply_to_table(conn, &tables->tables[i], &argument, sample);
		n_matched++;
	}
	PQclear(oids);
	if (n_matched == 0)
		pg_fatal("no table whose rows are dumped matches pattern \"%s\" of option %s",
				 argument.pattern, option);
	free(argument.pattern);
}

void
row_filters_apply(PGconn *conn, const Options *options, DumpTables *tables)
{
	if (options->sample.head && PQserverVersion(conn) < MIN_SERVER_FOR_SAMPLES)
		pg_fatal("option %s needs a server of version %d or newer",
				 "--sample", MIN_SERVER_FOR_SAMPLES / 10000);
	for (const SimpleStringListCell *cell = options->where.head; cell;
		 cell = cell->next)
		apply_argument(conn, tables, "--where", cell->val, false);
	for (const SimpleStringListCell *cell = options->sample.head; cell;
		 cell = cell->next)
		apply_argument(conn, tables, "--sample", cell->val, true);
}

/*
 * row_filter.c
 *		--where and --sample: tables of which not all rows are dumped.
 *
 * A filter becomes part of the query that reads a table or a chunk, so tables
 * that have one can be split as others.  That is why --sample does not use
 * TABLESAMPLE, which would scan the whole table for every chunk: a row is
 * chosen by a hash of its place in the table, which is the same choice as
 * that of TABLESAMPLE BERNOULLI, each row by itself, in any way of scanning.
 */
#include "base/fe_compat.h"

#include <math.h>

#include "catalog/pg_class_d.h"

#include "base/message.h"
#include "selection/expression_check.h"
#include "selection/row_filter.h"
#include "selection/table_pattern.h"

/* hash functions of ctid came with 14 */
#define MIN_SERVER_FOR_SAMPLES 140000

/* A hash has this number of bits, and so is what it is compared with. */
#define SAMPLE_BITS 32

/* Another condition that rows must meet as well. */
static void
add_filter(DumpTable *table, const char *condition)
{
	char	   *before = table->filter;

	table->filter = before ? psprintf("%s AND %s", before, condition)
		: pg_strdup(condition);
	free(before);
}

/* One expression, see expression_check.c. */
static void
add_condition(PGconn *conn, DumpTable *table, const char *condition)
{
	char	   *in_parentheses = psprintf("(%s\n)", condition);
	char	   *problem = psprintf("invalid condition for table %s: %s",
								   printable(table->name), condition);
	char	   *sql;

	sql = psprintf("SELECT ARRAY[%s\n] FROM ONLY %s", condition, table->name);
	expression_check(conn, sql, problem, NULL);
	free(sql);
	sql = psprintf("SELECT FROM ONLY %s WHERE %s", table->name, in_parentheses);
	expression_check(conn, sql, problem, NULL);
	free(sql);
	free(problem);
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
apply_to_table(PGconn *conn, DumpTable *table, const TablePattern *argument,
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

static TablePattern
split(const char *option, const char *arg)
{
	const char *form = strcmp(option, "--sample") == 0 ?
		"TABLE:PERCENT, e.g. \"orders:10\"" :
		"TABLE:CONDITION, e.g. \"orders:total > 100\"";

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
	{
		table_pattern_free(&pattern);
		return;
	}
	oids = table_pattern_query(conn, &pattern, false,
							   "SELECT oid FROM matching");
	for (int i = 0; i < tables->n_tables; i++)
	{
		if (table_pattern_rows(oids, tables->tables[i].oid).n == 0)
			continue;
		apply_to_table(conn, &tables->tables[i], &pattern, sample);
		n_matched++;
	}
	PQclear(oids);
	if (n_matched == 0 &&
		!(options->one_of_all && (table_pattern_was_missing(arg) ||
								  table_pattern_is_there(conn, &pattern))))
		pg_fatal("no table whose rows are dumped matches pattern \"%s\" of option %s",
				 pattern.table, option);
	table_pattern_free(&pattern);
}

void
row_filters_apply(PGconn *conn, const Options *options, DumpTables *tables)
{
	if (options->sample.head && PQserverVersion(conn) < MIN_SERVER_FOR_SAMPLES)
		pg_fatal("option %s needs a server of version %d or newer",
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
	bool		result = table_pattern_is_there(conn, &pattern);

	table_pattern_free(&pattern);
	return result;
}

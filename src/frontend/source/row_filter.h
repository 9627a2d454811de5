/*
 * row_filter.h
 *		--where and --sample: tables of which not all rows are dumped.
 */
#ifndef ROW_FILTER_H
#define ROW_FILTER_H

#include "plan/dump_table.h"

/* ----------
 * Options that are for the tables, or columns, that a pattern matches.
 * ----------
 */

/* TABLE:VALUE, or TABLE.COLUMN:VALUE, taken apart; never freed. */
typedef struct TablePattern
{
	const char *option;			/* to be named in messages */
	char	   *table;
	char	   *column;			/* NULL if there is none in it */
	const char *value;			/* what stands behind the colon */
} TablePattern;

/* Rows that a query has for a table, or several of them. */
typedef struct TableRows
{
	int			first;
	int			n;
} TableRows;

/*
 * Cut an option's argument at the first colon that is not quoted, and, if it
 * is to have a column, at the last such dot before it.  Exits with a message
 * that says the form if it is not of it.
 */
extern TablePattern table_pattern_split(const char *option, const char *form,
										const char *arg, bool has_column);

/*
 * Run a query that reads FROM matching (oid), the relations that the pattern
 * matches, as -t does in pg_dump, and the partitions of those that are
 * partitioned, where their rows are; if children are wanted, those of all.
 * With a column in the pattern the query must have a WHERE, and a.attname is
 * what the pattern is for.  The rows come in the order of the first column,
 * which is to be the OID.  Exits with a message if the pattern is none.
 */
extern PGresult *table_pattern_query(PGconn *conn, const TablePattern *pattern,
									 bool children, const char *query);

/* Does the pattern name another database than the session's? */
extern bool table_pattern_is_elsewhere(PGconn *conn,
									   const TablePattern *pattern);

/*
 * A hint of an error: the pattern has no schema, and these tables that it
 * would match are in schemas that are not in the user's search_path.  False
 * if there is none.
 */
extern bool table_pattern_hint(PGconn *conn, const TablePattern *pattern);

/*
 * Does the pattern match a table that is none of the system's, or a column of
 * one?  It does not if it names another database.
 */
extern bool table_pattern_is_there(PGconn *conn, const TablePattern *pattern);

/*
 * In the run of one of all databases, before its options are used: this
 * argument matched nothing there when all of them were asked.  It may match
 * by now, or not.
 */
extern void table_pattern_note_missing(const char *arg);
extern bool table_pattern_was_missing(const char *arg);

/* Which rows of its result have this OID. */
extern TableRows table_pattern_rows(const PGresult *res, Oid oid);

/* ----------
 * Has the server look at what a user wrote in SQL.
 * ----------
 */

/*
 * Have the server parse a statement that must have no parameters, and do no
 * more with it.  Exits with a message that begins with the problem, which may
 * have several lines of detail but no newline at its end, if it does not.
 * mismatch, if it is not NULL, is the detail where types do not fit, in place
 * of the server's words.  If the session is lost, that is what is told.
 */
extern void expression_check(PGconn *conn, const char *sql,
							 const char *problem, const char *mismatch);

/*
 * Set the filters of the tables that the options' patterns match, and have
 * the server check every condition.  Exits with a message if a pattern
 * matches no table to be dumped, or if a condition is not one; in a run of
 * one of all databases a table that is not dumped will do.  The tables are
 * locked.
 */
extern void row_filters_apply(PGconn *conn, const Options *options,
							  DumpTables *tables);

/*
 * Does this argument of --where or --sample name a table of the database,
 * dumped or not?  Exits with a message if it is not of the form.
 */
extern bool row_filter_is_there(PGconn *conn, const char *option,
								const char *arg);

#endif							/* ROW_FILTER_H */

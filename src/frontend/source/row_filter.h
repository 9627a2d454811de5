/*
 * row_filter.h
 *		--where and --sample: tables of which only some rows are dumped.
 *
 * row_mask.c and other files use the functions for patterns, too.
 */
#ifndef ROW_FILTER_H
#define ROW_FILTER_H

#include "plan/dump_table.h"

/* ----------
 * Options for the tables, or columns, that match a pattern.
 * ----------
 */

/* The parts of TABLE:VALUE or TABLE.COLUMN:VALUE; never freed. */
typedef struct TablePattern
{
	const char *option;			/* its name, for messages */
	char	   *table;
	char	   *column;			/* or NULL */
	const char *value;			/* the text after the colon */
} TablePattern;

/* The rows of one table in the result of a query. */
typedef struct TableRows
{
	int			first;
	int			n;
} TableRows;

/*
 * Split an option's argument at the first colon that is not quoted and, if
 * has_column is true, at the last unquoted dot before it.  If the argument
 * does not have the right form, exits with a message that shows the form.
 */
extern TablePattern table_pattern_split(const char *option, const char *form,
										const char *arg, bool has_column);

/*
 * Run a query that reads FROM matching (oid).  This contains the relations
 * that the pattern matches, as for pg_dump's -t, and the partitions of
 * partitioned tables, because these contain the rows; if children is true,
 * also inheritance children.  If the pattern has a column the query must have
 * a WHERE clause, and a.attname is compared with the pattern.  The rows of
 * the result are sorted by the first column, which should be the OID.  Exits
 * with a message if the pattern is invalid.
 */
extern PGresult *table_pattern_query(PGconn *conn, const TablePattern *pattern,
									 bool children, const char *query);

/* Does the pattern name a database other than the session's? */
extern bool table_pattern_is_elsewhere(PGconn *conn,
									   const TablePattern *pattern);

/*
 * Add a hint to an error if the pattern has no schema, and would match tables
 * in schemas that are not in the user's search_path.  Returns false if there
 * is no such table.
 */
extern bool table_pattern_hint(PGconn *conn, const TablePattern *pattern);

/*
 * End the process if the table is a configuration table of an extension with
 * a filter condition, which decides what pg_dump writes of its rows.
 */
extern void table_pattern_check_condition(const TablePattern *pattern,
										  const DumpTable *table);

/*
 * Does the pattern match a table that is not a system table, or a column of
 * such a table?  It does not if it names another database.
 */
extern bool table_pattern_is_there(PGconn *conn, const TablePattern *pattern);

/*
 * With --all-databases, before the options of a database's run are used: this
 * argument matched nothing when all databases were queried.  So it is not an
 * error if it matches nothing now.
 */
extern void table_pattern_note_missing(const char *arg);
extern bool table_pattern_was_missing(const char *arg);

/* The rows of the result with this OID. */
extern TableRows table_pattern_rows(const PGresult *res, Oid oid);

/* ----------
 * SQL expressions of the user, which the server checks.
 * ----------
 */

/*
 * Have the server parse a statement without running it.  The statement must
 * have no parameters.  If it is invalid, exits with a message that begins
 * with problem.  If mismatch is not NULL it replaces the server's message
 * about types that do not match.  A lost session is reported as such.
 */
extern void expression_check(PGconn *conn, const char *sql,
							 const char *problem, const char *mismatch);

/*
 * Set the filters of the tables that the options' patterns match, after the
 * server has checked every condition.  Exits with a message if a condition is
 * invalid, or if a pattern matches no table that is dumped; with
 * --all-databases, matching a table that is not dumped is enough.  The tables
 * must be locked.
 */
extern void row_filters_apply(PGconn *conn, const Options *options,
							  DumpTables *tables);

/*
 * Does this argument of --where or --sample match a table of the database,
 * dumped or not?  Exits with a message if the argument does not have the
 * right form.
 */
extern bool row_filter_is_there(PGconn *conn, const char *option,
								const char *arg);

#endif							/* ROW_FILTER_H */

/*
 * row_filter.h
 *		--where and --sample: tables of which not all rows are dumped.
 */
#ifndef ROW_FILTER_H
#define ROW_FILTER_H

#include "options/options.h"
#include "plan/dump_table.h"

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

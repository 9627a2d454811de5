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
 * matches no table to be dumped, or if a condition is not one.  The tables
 * are locked.
 */
extern void row_filters_apply(PGconn *conn, const Options *options,
							  DumpTables *tables);

#endif							/* ROW_FILTER_H */

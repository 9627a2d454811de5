/*
 * compare_lookup.h
 *		Finds what a plan names in another database, by names.
 *
 * That database was, or is to be, filled from what the plan is of: so it has
 * tables of the same names, with other OIDs.  A name that its encoding does
 * not have is not found.
 */
#ifndef COMPARE_LOOKUP_H
#define COMPARE_LOOKUP_H

#include "libpq-fe.h"

#include "plan/dump_plan.h"

/*
 * The name of the table that the rows are loaded into, qualified, and quoted
 * like the names of tables; owned.
 */
extern char *compare_lookup_load_name(const DumpTable *table);

/*
 * A table of contents with the data of the tables that the database of this
 * session has, of those of the plan, with the columns that both have.  Names
 * of columns are the server's: those of an archive may hold any SQL.
 *
 * If the database was loaded, rows of a table that is loaded by way of a
 * partitioned one may be in any of its partitions, but for those that are
 * loaded for themselves: all of these are there instead, each with the load
 * name of the partitioned table.  Foreign tables are left out.  *missing is
 * the first table that is not found, or NULL; borrowed.
 */
extern Toc *compare_lookup_tables(PGconn *conn, const DumpPlan *plan,
								  bool loaded, const char **missing);

/* The large objects of the plan that the database has, in groups. */
extern LargeObjects *compare_lookup_objects(PGconn *conn,
											const LargeObjects *objects);

#endif							/* COMPARE_LOOKUP_H */

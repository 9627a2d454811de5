/*
 * load_order.h
 *		The order in which tables are loaded if foreign keys already exist.
 */
#ifndef LOAD_ORDER_H
#define LOAD_ORDER_H

#include "plan/dump_plan.h"

/*
 * Put the plan's jobs into waves, so that a table is loaded after the tables
 * that it references.  One job loads all rows of a table that references
 * itself.  Tables that reference each other have no right order.  Reads the
 * keys with the session on the target; "targets" contains the OIDs of the
 * plan's tables there.  Returns the plan's own queue if there are no foreign
 * keys between these tables.  "shares" and "apart" are those of JobRules.
 */
extern const JobQueue *load_order_make(PGconn *conn, const DumpPlan *plan,
									   const int *shares, bool apart,
									   const Oid *targets);

/* A foreign key, with the numbers of both tables in the plan. */
typedef struct LoadKey
{
	int			from;
	int			to;				/* the referenced table */
} LoadKey;

/*
 * Compute the wave of each table, from 0.  A table's wave is higher than
 * those of the tables that it references.  If references form a circle, one
 * of them is ignored.  The time is proportional to the number of tables and
 * keys.  Sorts the keys.  The result is owned.
 */
extern int *load_order_waves(LoadKey *keys, int n_keys, int n_tables);

#endif							/* LOAD_ORDER_H */

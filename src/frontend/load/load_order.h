/*
 * load_order.h
 *		The order in which tables are loaded if foreign keys already exist.
 */
#ifndef LOAD_ORDER_H
#define LOAD_ORDER_H

#include "plan/dump_plan.h"

/*
 * The plan's jobs in waves: what is referenced comes before what references
 * it, and the rows of a table that references itself all at once.  Where
 * tables reference each other no order is right.  Asks the session on the
 * target, where the plan's tables are these; without foreign keys between
 * them it is the plan's own queue.  shares and apart are those of JobRules.
 */
extern const JobQueue *load_order_make(PGconn *conn, const DumpPlan *plan,
									   const int *shares, bool apart,
									   const Oid *targets);

/* A foreign key, by numbers of tables. */
typedef struct LoadKey
{
	int			from;
	int			to;				/* that it references */
} LoadKey;

/*
 * The wave of each table, from 0: after all that it references, but where
 * they go round in a circle one reference of it is passed over.  Takes time
 * by the number of tables and keys; sorts the keys.  Owned.
 */
extern int *load_order_waves(LoadKey *keys, int n_keys, int n_tables);

#endif							/* LOAD_ORDER_H */

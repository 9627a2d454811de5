/*
 * restore_order.h
 *		In which order rows come where foreign keys are there already.
 */
#ifndef RESTORE_ORDER_H
#define RESTORE_ORDER_H

#include "libpq-fe.h"

#include "plan/archive_plan.h"

/*
 * The plan's jobs in waves: what is referenced comes before what references
 * it, and the rows of a table that references itself all at once.  Where
 * tables reference each other no order is right.  Asks the session on the
 * target, where the plan's tables are these; without foreign keys between
 * them it is the plan's own queue.
 */
extern const JobQueue *restore_order_make(PGconn *conn,
										  const ArchivePlan *archive,
										  const Oid *targets);

/* A foreign key, by numbers of tables. */
typedef struct RestoreKey
{
	int			from;
	int			to;				/* that it references */
} RestoreKey;

/*
 * The wave of each table, from 0: after all that it references, but where
 * they go round in a circle one reference of it is passed over.  Takes time
 * by the number of tables and keys; sorts the keys.  Owned.
 */
extern int *restore_order_waves(RestoreKey *keys, int n_keys, int n_tables);

#endif							/* RESTORE_ORDER_H */

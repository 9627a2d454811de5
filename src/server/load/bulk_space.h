/*-------------------------------------------------------------------------
 *
 * bulk_space.h
 *	  The pages that a transaction's bulk insertions have added to a table
 *	  and not used yet, kept from one statement to the next.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_BULK_SPACE_H
#define PARDUMP_BULK_SPACE_H

#include "postgres.h"

#include "access/heapam.h"
#include "utils/relcache.h"

/*
 * Give a new state the pages that the last one of this transaction, for this
 * table, has left.
 */
extern void bulk_space_take(Relation rel, BulkInsertState bulk);

/* Keep what a state that is about to be freed has left. */
extern void bulk_space_keep(Relation rel, BulkInsertState bulk);

#endif							/* PARDUMP_BULK_SPACE_H */

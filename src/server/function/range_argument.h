/*-------------------------------------------------------------------------
 *
 * range_argument.h
 *	  Some columns of a block range: the first arguments of the functions that
 *	  look at rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RANGE_ARGUMENT_H
#define PARDUMP_RANGE_ARGUMENT_H

#include "postgres.h"

#include "fmgr.h"
#include "storage/block.h"
#include "utils/relcache.h"

typedef struct RangeArgument
{
	Relation	rel;
	AttrNumber *attnums;		/* in the order asked for */
	int			n_attnums;
	BlockNumber start;			/* start <= block < end */
	BlockNumber end;
} RangeArgument;

/*
 * From arguments 0 and 1: relation regclass, columns name[].  Opens and locks
 * (ACCESS SHARE) the relation; raises an error unless it is a table of heap,
 * has these columns, stored ones, and the current user may read them in all
 * rows.  Blocks are left as they are.  Allocates in CurrentMemoryContext.
 */
extern void column_argument_open(FunctionCallInfo fcinfo,
								 RangeArgument *argument);

/* With arguments 2 and 3: start_block bigint, end_block bigint or NULL. */
extern void range_argument_open(FunctionCallInfo fcinfo,
								RangeArgument *argument);

#endif							/* PARDUMP_RANGE_ARGUMENT_H */

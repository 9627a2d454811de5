/*-------------------------------------------------------------------------
 *
 * block_measure.h
 *	  Counts the rows of one heap block and the bytes a dump of them has to
 *	  move.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_BLOCK_MEASURE_H
#define PARDUMP_BLOCK_MEASURE_H

#include "storage/block.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/*
 * Amounts are double: they are summed, scaled and divided, never addressed.
 */
typedef struct DumpAmount
{
	double		rows;
	double		bytes;
} DumpAmount;

typedef struct BlockMeasurer BlockMeasurer;

/*
 * Make a measurer in the current memory context.  The relation must be a heap
 * and stay open and locked, the snapshot registered or active, as long as the
 * measurer is used.
 */
extern BlockMeasurer *block_measurer_new(Relation rel, Snapshot snapshot);

/*
 * Read block "block", which must exist, through the measurer's bulk-read ring
 * and return what of it the snapshot sees.  Bytes are those of the values
 * that COPY would write: at their length before compression and TOAST,
 * dropped and generated columns left out, plus COPY's separators.  Nothing is
 * detoasted, the sizes of out-of-line values stand in their TOAST pointers.
 * What is damaged counts nothing.  An error tells in its context which row it
 * was met at.
 */
extern DumpAmount block_measure(BlockMeasurer *measurer, BlockNumber block);

/* Release the measurer, its ring included. */
extern void block_measurer_free(BlockMeasurer *measurer);

#endif							/* PARDUMP_BLOCK_MEASURE_H */

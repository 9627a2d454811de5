/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  Cuts a heap into block ranges of about equal bytes to dump.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_PLANNER_H
#define PARDUMP_PLANNER_H

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

/* The blocks from start_block up to, not including, end_block. */
typedef struct Chunk
{
	BlockNumber start_block;
	BlockNumber end_block;
	DumpAmount	amount;
} Chunk;

typedef struct ChunkCutter ChunkCutter;

/*
 * Sample a heap, to cut it into chunks of "chunk_bytes" (> 0) estimated bytes
 * each.  The cutter is made in the current memory context.  The relation must
 * be locked by the caller.  As its size is taken now, all rows that
 * "snapshot" sees lie inside of it.  A given state of a relation and chunk
 * size always give the same chunks.
 *
 * As many chunks are aimed at as the bytes need, so a chunk is meant to have
 * chunk_bytes or somewhat less; but cuts lie between blocks, a chunk may have
 * more by up to one half of a block's bytes on either side, and a single
 * block with more (long out-of-line values) cannot be divided at all.
 */
extern ChunkCutter *chunk_cutter_new(Relation rel, Snapshot snapshot,
									 int64 chunk_bytes);

/*
 * Get the next chunk, in block order; false if there is none left.  The first
 * chunk starts at block 0, each following one where the one before ended, the
 * last ends with the relation.  There is always at least one, and only for an
 * empty relation it has no block.
 */
extern bool chunk_cutter_next(ChunkCutter *cutter, Chunk *chunk);

#endif							/* PARDUMP_PLANNER_H */

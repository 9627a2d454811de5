/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  Divides a heap into chunks: block ranges with about the same number of
 *	  bytes to dump.
 *
 * function/plan_function.c returns the chunks as the rows of
 * pg_pardump_chunks().
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_PLANNER_H
#define PARDUMP_PLANNER_H

#include "storage/block.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/*
 * A number of rows, and of their bytes in the dump.  Both are estimates that
 * are scaled and divided, so they are not integers.
 */
typedef struct DumpAmount
{
	double		rows;
	double		bytes;
} DumpAmount;

/* The blocks from start_block to end_block - 1. */
typedef struct Chunk
{
	BlockNumber start_block;
	BlockNumber end_block;
	DumpAmount	amount;
} Chunk;

typedef struct ChunkCutter ChunkCutter;

/*
 * Sample a heap in order to divide it into chunks of about "chunk_bytes"
 * bytes each, which must be above 0.  The cutter is allocated in the current
 * memory context.  The caller must have locked the relation.  As its size is
 * read now, all rows that "snapshot" sees are in the chunks.  The same state
 * of a relation and the same chunk size always result in the same chunks.
 *
 * The planned number of chunks is that of the bytes divided by chunk_bytes,
 * rounded up.  So a chunk should have chunk_bytes or a little less.  As cuts
 * are between blocks, it may have up to half a block's bytes more on either
 * side.  A single block with more bytes (long out-of-line values) cannot be
 * divided.
 */
extern ChunkCutter *chunk_cutter_new(Relation rel, Snapshot snapshot,
									 int64 chunk_bytes);

/*
 * Get the next chunk, in the order of blocks; returns false if none is left.
 * The first chunk starts at block 0, each other one at the end of the one
 * before, and the last one ends with the relation.  There is always at least
 * one chunk; only that of an empty relation contains no block.
 */
extern bool chunk_cutter_next(ChunkCutter *cutter, Chunk *chunk);

#endif							/* PARDUMP_PLANNER_H */

/*-------------------------------------------------------------------------
 *
 * chunk_cutter.h
 *	  Cuts a sampled relation into block ranges of about equal bytes to dump.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_CHUNK_CUTTER_H
#define PARDUMP_CHUNK_CUTTER_H

#include "plan/relation_sample.h"

/* The blocks from start_block up to, not including, end_block. */
typedef struct Chunk
{
	BlockNumber start_block;
	BlockNumber end_block;
	DumpAmount	amount;
} Chunk;

typedef struct ChunkCutter ChunkCutter;

/*
 * Cut into chunks of "chunk_bytes" (> 0) estimated bytes each.  The cutter is
 * made in the current memory context and refers to the sample, which must
 * outlive it.
 *
 * As many chunks are aimed at as the bytes need, so a chunk is meant to have
 * chunk_bytes or somewhat less; but cuts lie between blocks, a chunk may have
 * more by up to one half of a block's bytes on either side, and a single
 * block with more (long out-of-line values) cannot be divided at all.
 */
extern ChunkCutter *chunk_cutter_new(const RelationSample *sample,
									 int64 chunk_bytes);

/*
 * Get the next chunk, in block order; false if there is none left.  The first
 * chunk starts at block 0, each following one where the one before ended, the
 * last ends with the relation.  There is always at least one, and only for an
 * empty relation it has no block.
 */
extern bool chunk_cutter_next(ChunkCutter *cutter, Chunk *chunk);

/* Release the cutter, not the sample. */
extern void chunk_cutter_free(ChunkCutter *cutter);

#endif							/* PARDUMP_CHUNK_CUTTER_H */

/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  Estimates where in a heap the rows and bytes to dump are, from a bounded
 *	  number of its blocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_PLANNER_H
#define PARDUMP_PLANNER_H

#include "storage/block.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* ----------
 * Counts the rows of one heap block and the bytes a dump of them has to
 * move.
 * ----------
 */

/*
 * Amounts are double: they are summed, scaled and divided, never addressed.
 */
typedef struct DumpAmount
{
	double		rows;
	double		bytes;
} DumpAmount;

/* ----------
 * Estimates where in a heap the rows and bytes to dump are, from a bounded
 * number of its blocks.
 * ----------
 */

/*
 * How many blocks of a relation are read for each chunk that it may have, and
 * how many at least and at most.
 */
#define SAMPLED_BLOCKS_PER_CHUNK	32
#define MIN_SAMPLED_BLOCKS	512
#define MAX_SAMPLED_BLOCKS	4096

/* A range of neighbouring blocks and what is estimated to be in it. */
typedef struct Stratum
{
	BlockNumber nblocks;		/* > 0 */
	DumpAmount	amount;
} Stratum;

typedef struct RelationSample
{
	BlockNumber nblocks;		/* size of the relation */
	int			nstrata;		/* 0 if nblocks is 0 */
	Stratum    *strata;			/* owned; in block order, without gaps */
} RelationSample;

/*
 * Sample a heap closely enough to cut it into chunks of about "chunk_bytes"
 * (> 0); the result is made in the current memory context.  The relation must
 * be locked by the caller.  As its size is taken now, all rows that
 * "snapshot" sees lie inside of it.
 *
 * Up to MIN_SAMPLED_BLOCKS blocks, and up to MAX_SAMPLED_BLOCKS if the chunks
 * are small, are all read, each a stratum of its own with exact figures.  A
 * given state of a relation and chunk size always give the same sample.
 */
extern RelationSample *relation_sample(Relation rel, Snapshot snapshot,
									   int64 chunk_bytes);

/* ----------
 * Cuts a sampled relation into block ranges of about equal bytes to dump.
 * ----------
 */

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

#endif							/* PARDUMP_PLANNER_H */

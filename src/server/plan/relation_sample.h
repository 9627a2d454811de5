/*-------------------------------------------------------------------------
 *
 * relation_sample.h
 *	  Estimates where in a heap the rows and bytes to dump are, from a bounded
 *	  number of its blocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RELATION_SAMPLE_H
#define PARDUMP_RELATION_SAMPLE_H

#include "plan/block_measure.h"

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

#endif							/* PARDUMP_RELATION_SAMPLE_H */

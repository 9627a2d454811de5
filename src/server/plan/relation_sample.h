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
 * The most blocks of a relation that are read, and the number of strata of a
 * larger one.
 */
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
 * Sample a heap; the result is made in the current memory context.  The
 * relation must be locked by the caller.  As its size is taken now, all rows
 * that "snapshot" sees lie inside of it.
 *
 * Up to MAX_SAMPLED_BLOCKS blocks are all read, each a stratum of its own
 * with exact figures.  A given state of a relation always gives the same
 * sample.
 */
extern RelationSample *relation_sample(Relation rel, Snapshot snapshot);

#endif							/* PARDUMP_RELATION_SAMPLE_H */

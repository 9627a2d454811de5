/*
 * difference_sketch.h
 *		How two multisets of hashes differ, in memory that does not grow with
 *		them.
 *
 * Every hash of one side is added, every one of the other taken away, in any
 * order and by any number of processes.  What is in both leaves nothing
 * behind; what is left can be read, if it is not too much, and estimated if
 * it is (Eppstein and others, "What's the Difference? Efficient Set
 * Reconciliation without Prior Context", SIGCOMM 2011).
 */
#ifndef DIFFERENCE_SKETCH_H
#define DIFFERENCE_SKETCH_H

#include "base/fe_compat.h"

typedef struct DifferenceSketch DifferenceSketch;

/* A hash that is there more often on one side. */
typedef struct DifferentHash
{
	uint64		hash;
	int64		surplus;		/* of the side that was added; else negative */
} DifferentHash;

typedef struct Difference
{
	DifferentHash *hashes;		/* those that could be read, in order; owned */
	int			n_hashes;
	bool		complete;		/* these are all */
	uint64		least_level;	/* all of the hashes that are at this level
								 * or above are among them */
	uint64		added;			/* surplus of the one side and of the other, */
	uint64		taken;			/* estimated unless complete */
} Difference;

/*
 * Its size for as many hashes on both sides together: up to 9 MB.  It is
 * empty if all of its bytes are zero.
 */
extern size_t difference_sketch_bytes(uint64 n_hashes);

/* A hash of this side: times is 1 or -1. */
extern void difference_sketch_add(DifferenceSketch *sketch, uint64 n_hashes,
								  uint64 hash, int times);

/*
 * Add all that is in part, of the same n_hashes, to a sketch in memory that
 * is shared with others who do the same.
 */
extern void difference_sketch_merge(DifferenceSketch *sketch,
									const DifferenceSketch *part,
									uint64 n_hashes);

/* Read what is left; that takes it out of the sketch. */
extern Difference difference_sketch_read(DifferenceSketch *sketch,
										 uint64 n_hashes);

/* Is the hash one that the side which was added (or the other) has more? */
extern bool difference_has(const Difference *difference, uint64 hash,
						   bool added);

/* Can it be told of this hash?  If not all could be read, of some only. */
extern bool difference_knows(const Difference *difference, uint64 hash);

#endif							/* DIFFERENCE_SKETCH_H */

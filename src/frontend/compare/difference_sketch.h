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

typedef struct DifferenceSketch DifferenceSketch;

/* A hash that is there more often on one side. */
typedef struct DifferentHash
{
	uint64		hash;
	int64		surplus;		/* of the side added; else negative */
} DifferentHash;

#define DIFFERENCE_LEVELS 24

typedef struct Difference
{
	DifferentHash *hashes;		/* those read, in order; owned */
	int			n_hashes;
	int			least_level;	/* these are all at this level or above it; 0
								 * = all there are */
	uint64		added[DIFFERENCE_LEVELS];	/* by level: surplus of the side
											 * that was added, */
	uint64		taken[DIFFERENCE_LEVELS];	/* and of the other */
} Difference;

/*
 * Its size for as many hashes on both sides together: up to 5 MB.  It is
 * empty if all of its bytes are zero.
 */
extern size_t difference_sketch_bytes(uint64 n_hashes);

/*
 * A hash of this side: times is 1 or -1.  Its level is that of another hash:
 * sketches with the same ones are of the same part of a whole.
 */
extern void difference_sketch_add(DifferenceSketch *sketch, uint64 n_hashes,
								  uint64 hash, uint64 level_hash, int times);

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

/*
 * Is it known of hashes with this level_hash whether they differ?  If not all
 * could be read, of some only.
 */
extern bool difference_knows(const Difference *difference, uint64 level_hash);

/*
 * How many hashes the side has more, estimated from this level and those
 * above; none of them may be below least_level.
 */
extern uint64 difference_count(const Difference *difference, bool added,
							   int least_level);

#endif							/* DIFFERENCE_SKETCH_H */

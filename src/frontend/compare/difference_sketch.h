/*
 * difference_sketch.h
 *		Finds how two multisets of hashes differ, in memory that does not grow
 *		with them.
 *
 * Every hash of one side is added, and every hash of the other is subtracted,
 * in any order and by any number of processes.  Hashes of both sides cancel
 * each other.  The remaining ones can be read if there are not too many, and
 * estimated otherwise (Eppstein and others, "What's the Difference? Efficient
 * Set Reconciliation without Prior Context", SIGCOMM 2011).
 */
#ifndef DIFFERENCE_SKETCH_H
#define DIFFERENCE_SKETCH_H

typedef struct DifferenceSketch DifferenceSketch;

/* A hash that one side has more often. */
typedef struct DifferentHash
{
	uint64		hash;
	int64		surplus;		/* positive if the added side has more */
} DifferentHash;

#define DIFFERENCE_LEVELS 24

typedef struct Difference
{
	DifferentHash *hashes;		/* the hashes that were read, sorted; owned */
	int			n_hashes;
	int			least_level;	/* all hashes from this level on were read; 0
								 * = all hashes */
	uint64		added[DIFFERENCE_LEVELS];	/* by level: surplus of the added
											 * side, */
	uint64		taken[DIFFERENCE_LEVELS];	/* and of the other side */
} Difference;

/*
 * The size of a sketch for this many hashes on both sides together: up to 5
 * MB.  It is empty if all of its bytes are zero.
 */
extern size_t difference_sketch_bytes(uint64 n_hashes);

/*
 * Add a hash (times is 1) or subtract it (-1).  Its level depends on
 * level_hash, so that several sketches with the same level_hash sample the
 * same items.
 */
extern void difference_sketch_add(DifferenceSketch *sketch, uint64 n_hashes,
								  uint64 hash, uint64 level_hash, int times);

/*
 * Add the contents of part, with the same n_hashes, to a sketch in shared
 * memory, to which other processes may also be adding.
 */
extern void difference_sketch_merge(DifferenceSketch *sketch,
									const DifferenceSketch *part,
									uint64 n_hashes);

/* Read the remaining hashes, and remove them from the sketch. */
extern Difference difference_sketch_read(DifferenceSketch *sketch,
										 uint64 n_hashes);

/*
 * Does the added side (or, if added is false, the other) have this hash more
 * often?
 */
extern bool difference_has(const Difference *difference, uint64 hash,
						   bool added);

/*
 * Is it known whether hashes with this level_hash differ?  If not all could
 * be read, only some are known.
 */
extern bool difference_knows(const Difference *difference, uint64 level_hash);

/*
 * Returns how many more hashes the side has, estimated from this level and
 * those above, which must not be below the difference's least_level.
 */
extern uint64 difference_count(const Difference *difference, bool added,
							   int least_level);

#endif							/* DIFFERENCE_SKETCH_H */

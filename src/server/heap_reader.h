/*-------------------------------------------------------------------------
 *
 * heap_reader.h
 *	  The tuples of a range of heap blocks that a snapshot sees.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_HEAP_READER_H
#define PARDUMP_HEAP_READER_H

#include "postgres.h"

#include "access/htup_details.h"
#include "storage/bufpage.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef struct HeapReader HeapReader;

/*
 * Read the blocks start <= b < end; blocks behind the relation's end have no
 * tuples.  The snapshot must be an MVCC snapshot and stay registered.  In a
 * serializable transaction the relation is predicate-locked, as by a
 * sequential scan.  Allocates in CurrentMemoryContext.
 */
extern HeapReader *heap_reader_new(Relation rel, Snapshot snapshot,
								   BlockNumber start, BlockNumber end);

/* Does a normal line pointer point into its page, to no less than a header? */
static inline bool
heap_item_is_sound(ItemId item)
{
	return ItemIdGetOffset(item) >= SizeOfPageHeaderData &&
		ItemIdGetOffset(item) + ItemIdGetLength(item) <= BLCKSZ &&
		ItemIdGetLength(item) >= SizeofHeapTupleHeader;
}

/* The next tuple, in its buffer, valid up to the next call; NULL at the end. */
extern HeapTuple heap_reader_next(HeapReader *reader);

extern void heap_reader_free(HeapReader *reader);

#endif							/* PARDUMP_HEAP_READER_H */

/*-------------------------------------------------------------------------
 *
 * heap_reader.h
 *	  The tuples of a range of heap blocks that a snapshot sees.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_HEAP_READER_H
#define PARDUMP_HEAP_READER_H

#include "access/htup.h"
#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "base/server_compat.h"

/* ----------
 * Prefetches a page's tuples into the CPU's cache before they are read.
 * ----------
 */

/* Where a CPU's lines are longer, some are asked for twice. */
#define CACHE_LINE_BYTES 64

/*
 * Ask for all tuples of the page at once.  Else each is waited for at its
 * first touch: tuples stand from the page's end backwards, and are as long as
 * they like, which no CPU foresees.  Waits for nothing, and takes any page:
 * addresses stay within it even if its header is damaged.
 */
static inline void
page_prefetch_tuples(Page page)
{
	const char *end = (const char *) page + BLCKSZ;
	const char *line = (const char *) page + ((PageHeader) page)->pd_upper;

	for (; line < end; line += CACHE_LINE_BYTES)
		__builtin_prefetch(line);
}

/* ----------
 * Reads a range of heap blocks.
 *
 * Blocks are read through a ring that keeps the rest of the buffer cache in
 * place.  Since 17 the server's own read streams do this, with vectored and,
 * since 18, asynchronous reads (src/backend/storage/aio/read_stream.c);
 * before, the kernel sees sequential reads and reads ahead, as for a
 * sequential scan.
 * ----------
 */

typedef struct HeapBlocks
{
	Relation	rel;			/* borrowed */
	BufferAccessStrategy ring;
	BlockNumber next;			/* to be read */
	BlockNumber end;
#ifdef PARDUMP_READ_STREAMS
	ReadStream *stream;
#endif
} HeapBlocks;

/*
 * Read the blocks start <= b < end; those behind the relation's end are left
 * out.  The struct may not move before heap_blocks_end().  Allocates in
 * CurrentMemoryContext.
 */
extern void heap_blocks_begin(HeapBlocks *blocks, Relation rel,
							  BlockNumber start, BlockNumber end);

/* The next block's buffer, pinned; InvalidBuffer at the end. */
static inline Buffer
heap_blocks_next(HeapBlocks *blocks)
{
#ifdef PARDUMP_READ_STREAMS
	return read_stream_next_buffer(blocks->stream, NULL);
#else
	if (blocks->next >= blocks->end)
		return InvalidBuffer;
	return ReadBufferExtended(blocks->rel, MAIN_FORKNUM, blocks->next++,
							  RBM_NORMAL, blocks->ring);
#endif
}

/* Release the pages that were read ahead.  Memory goes with its context. */
extern void heap_blocks_end(HeapBlocks *blocks);

/* ----------
 * The tuples of a range of heap blocks that a snapshot sees.
 * ----------
 */

/* Some columns of a range of blocks: what a call is asked to read. */
typedef struct HeapRange
{
	Relation	rel;			/* open and locked */
	AttrNumber *attnums;		/* in the order asked for */
	int			n_attnums;
	BlockNumber start;			/* start <= block < end */
	BlockNumber end;
} HeapRange;

typedef struct HeapReader HeapReader;

/*
 * Read the blocks start <= b < end; blocks behind the relation's end have no
 * tuples.  The snapshot must be an MVCC snapshot and stay registered.  In a
 * serializable transaction the relation is predicate-locked, as by a
 * sequential scan.  Allocates in CurrentMemoryContext.
 */
extern HeapReader *heap_reader_new(Relation rel, Snapshot snapshot,
								   BlockNumber start, BlockNumber end);

/*
 * Does a normal line pointer point into its page, to where a tuple may begin,
 * and to no less than a header?
 */
static inline bool
heap_item_is_sound(ItemId item)
{
	return ItemIdGetOffset(item) >= SizeOfPageHeaderData &&
		ItemIdGetOffset(item) == MAXALIGN(ItemIdGetOffset(item)) &&
		ItemIdGetOffset(item) + ItemIdGetLength(item) <= BLCKSZ &&
		ItemIdGetLength(item) >= SizeofHeapTupleHeader;
}

/*
 * The next tuple, in its buffer, valid up to the next call; NULL at the end.
 */
extern HeapTuple heap_reader_next(HeapReader *reader);

/*
 * Name with an error the row of the reader at which it was met, and the
 * column unless it is InvalidAttrNumber; or only the table.
 */
extern void heap_reader_errcontext(const HeapReader *reader,
								   AttrNumber column);

/* The same for a row that another reader has found. */
extern void heap_row_errcontext(Relation rel, const ItemPointerData *place,
								AttrNumber column);

/* Raise the error for a tuple that tuple_deform() finds damaged. */
extern void heap_damaged_tuple(Relation rel);

/*
 * Release the page that the reader has pinned, and those that it has read
 * ahead.  Its memory goes with its context.
 */
extern void heap_reader_free(HeapReader *reader);

/*
 * Raise an error if the relation's file would be removed when a
 * subtransaction that is open now is rolled back.  For readers that keep
 * pages pinned between calls of an SQL function: a portal, which owns the
 * pins, may be older than the subtransaction, and the server cannot remove a
 * file with pinned pages.
 */
extern void heap_check_lasts(Relation rel);

/* ----------
 * Takes heap tuples apart without believing their lengths.
 * ----------
 */

/* The properties of an attribute by which its value is stepped over. */
typedef struct StoredAttribute
{
	int16		len;			/* as attlen */
	bool		byval;
	uint8		align;			/* bytes, a power of two */
	int32		offset;			/* if all have fixed lengths and no NULL */
} StoredAttribute;

typedef struct TupleDeformer
{
	TupleDesc	tupdesc;		/* borrowed */
	int			natts;			/* to be filled in */
	int			n_fixed;		/* the first of them, of fixed lengths */
	int32		fixed_bytes;	/* where these end */
	Datum	   *values;			/* of the last tuple, by attribute */
	bool	   *isnull;
	StoredAttribute attributes[FLEXIBLE_ARRAY_MEMBER];
} TupleDeformer;

/*
 * A deformer of the first "natts" attributes, made in CurrentMemoryContext.
 * The descriptor is borrowed.
 */
extern TupleDeformer *tuple_deformer_new(TupleDesc tupdesc, int natts);

/*
 * As heap_deform_tuple(): fill in a value for each of the attributes, those
 * out of line and compressed ones as they are stored, and for columns that
 * were added later the default they were added with.  Returns where the last
 * of these values ends in the tuple, in bytes; 0 if the tuple is damaged: its
 * header or a value does not lie within its t_len bytes, which must be no
 * less than a header; or a value points to memory.  What is read of it lies
 * within these bytes in any case.
 */
extern Size tuple_deform(TupleDeformer *deformer, HeapTuple tuple);

#endif							/* PARDUMP_HEAP_READER_H */

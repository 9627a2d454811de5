/*-------------------------------------------------------------------------
 *
 * heap_reader.h
 *	  Reads the tuples of a range of heap blocks that a snapshot sees, and
 *	  splits tuples into values.
 *
 * All code of the extension that reads a heap uses these functions: for
 * dumps and fingerprints (read/), index builds (index/heap_entries.c) and raw
 * tuples (load/raw_loader.c).  Unlike the server's functions, they check the
 * contents of pages before they use them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_HEAP_READER_H
#define PARDUMP_HEAP_READER_H

#include "access/htup.h"
#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "utils/snapshot.h"

#include "base/server_compat.h"

/* ----------
 * Prefetches the tuples of a page into the processor's cache.
 * ----------
 */

/* On processors with longer lines, some lines are requested twice. */
#define CACHE_LINE_BYTES 64

/*
 * Request all tuples of a page at once.  Otherwise the processor would wait
 * for each tuple when it is read: tuples are stored from the end of the page
 * backwards and have different lengths, so the hardware does not predict
 * their addresses.  This does not wait.  Even if the header of the page is
 * damaged, no address after its end is requested.
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
 * Blocks are read with a ring of buffers, so that they do not displace other
 * pages in shared buffers.  Since 17 the server's read streams read blocks in
 * advance, several at a time, and asynchronously since 18
 * (src/backend/storage/aio/read_stream.c).  Before, the kernel notices that
 * reads are sequential and reads ahead, as for a sequential scan.
 * ----------
 */

/*
 * The blocks of a relation that several processes read together, in shared
 * memory.  Each process takes ranges of blocks until none are left, and
 * therefore reads its blocks in ascending order.
 */
typedef struct SharedBlocks
{
	BlockNumber end;
	BlockNumber range;			/* blocks that a process takes at once */
	pg_atomic_uint64 next;		/* the first block that was not taken */
} SharedBlocks;

/* Initialize this for all blocks of a relation. */
extern void shared_blocks_init(SharedBlocks *shared, Relation rel);

/* Let no process take further blocks. */
extern void shared_blocks_stop(SharedBlocks *shared);

/* Was shared_blocks_stop() called? */
extern bool shared_blocks_stopped(SharedBlocks *shared);

/* Return how many blocks were taken. */
extern BlockNumber shared_blocks_taken(SharedBlocks *shared);

typedef struct HeapBlocks
{
	Relation	rel;			/* borrowed */
	BufferAccessStrategy ring;
	BlockNumber next;			/* the block to read next */
	BlockNumber end;			/* of the range that is read */
	SharedBlocks *shared;		/* source of ranges, borrowed, or NULL */
#ifdef PARDUMP_READ_STREAMS
	ReadStream *stream;
#endif
} HeapBlocks;

/*
 * Begin to read the blocks start <= b < end.  Blocks after the end of the
 * relation are left out.  The struct must not be moved before
 * heap_blocks_end().  Allocates in CurrentMemoryContext.
 */
extern void heap_blocks_begin(HeapBlocks *blocks, Relation rel,
							  BlockNumber start, BlockNumber end);

/* The same for blocks that several processes read together. */
extern void heap_blocks_begin_shared(HeapBlocks *blocks, Relation rel,
									 SharedBlocks *shared);

/* Take the next range of shared blocks.  Returns false if none is left. */
extern bool heap_blocks_take_range(HeapBlocks *blocks);

/* Return the number of the block to read next, or InvalidBlockNumber. */
static inline BlockNumber
heap_blocks_advance(HeapBlocks *blocks)
{
	if (unlikely(blocks->next >= blocks->end) &&
		!heap_blocks_take_range(blocks))
		return InvalidBlockNumber;
	return blocks->next++;
}

/* Return the next block's buffer, pinned, or InvalidBuffer at the end. */
static inline Buffer
heap_blocks_next(HeapBlocks *blocks)
{
#ifdef PARDUMP_READ_STREAMS
	return read_stream_next_buffer(blocks->stream, NULL);
#else
	BlockNumber block = heap_blocks_advance(blocks);

	if (block == InvalidBlockNumber)
		return InvalidBuffer;
	return ReadBufferExtended(blocks->rel, MAIN_FORKNUM, block, RBM_NORMAL,
							  blocks->ring);
#endif
}

/*
 * Release pages that were read in advance.  Memory is freed with its context.
 */
extern void heap_blocks_end(HeapBlocks *blocks);

/* ----------
 * Reads the tuples of a range of heap blocks that a snapshot sees.
 * ----------
 */

/* The arguments of a read: columns and a range of blocks. */
typedef struct HeapRange
{
	Relation	rel;			/* open and locked */
	AttrNumber *attnums;		/* in the order of the argument */
	int			n_attnums;
	BlockNumber start;			/* start <= block < end */
	BlockNumber end;
} HeapRange;

typedef struct HeapReader HeapReader;

/*
 * Create a reader of the blocks start <= b < end.  Blocks after the end of
 * the relation are left out.  The snapshot must be an MVCC snapshot and stay
 * registered.  In a serializable transaction, the relation is
 * predicate-locked, as in a sequential scan.  Allocates in
 * CurrentMemoryContext.
 */
extern HeapReader *heap_reader_new(Relation rel, Snapshot snapshot,
								   BlockNumber start, BlockNumber end);

/*
 * Does a normal line pointer point to an aligned place within its page, and
 * to at least the header of a tuple?
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
 * Return the next tuple, or NULL at the end.  The tuple is in its buffer, and
 * is valid until the next call.
 */
extern HeapTuple heap_reader_next(HeapReader *reader);

/*
 * For a callback that adds context to errors: add the current row of the
 * reader, or only the table if there is none, and the column unless it is
 * InvalidAttrNumber.
 */
extern void heap_reader_errcontext(const HeapReader *reader,
								   AttrNumber column);

/* The same for a row that was found without a HeapReader. */
extern void heap_row_errcontext(Relation rel, const ItemPointerData *place,
								AttrNumber column);

/* Raise the error for a tuple that is damaged according to tuple_deform(). */
extern void heap_damaged_tuple(Relation rel);

/*
 * Release the page that the reader has pinned, and those that were read in
 * advance.  The memory of the reader is freed with its context.
 */
extern void heap_reader_free(HeapReader *reader);

/*
 * Raise an error if the rollback of a subtransaction that is open now would
 * remove the file of the relation.
 *
 * This is for readers that keep pages pinned between calls of an SQL
 * function.  The pins belong to a portal, which may be older than the
 * subtransaction and is not closed by its rollback, and the server cannot
 * remove a file whose pages are pinned.
 */
extern void heap_check_lasts(Relation rel);

/* ----------
 * Splits heap tuples into values, and checks their lengths.
 * ----------
 */

/* The properties of an attribute that are needed to find its value. */
typedef struct StoredAttribute
{
	int16		len;			/* as attlen */
	bool		byval;
	uint8		align;			/* bytes, a power of two */
	int32		offset;			/* for the first n_fixed attributes */
} StoredAttribute;

typedef struct TupleDeformer
{
	TupleDesc	tupdesc;		/* borrowed */
	int			natts;			/* attributes that are filled in */
	int			n_fixed;		/* first attributes with fixed lengths */
	int32		fixed_bytes;	/* offset of the end of these */
	Datum	   *values;			/* of the last tuple, by attribute */
	bool	   *isnull;
	StoredAttribute attributes[FLEXIBLE_ARRAY_MEMBER];
} TupleDeformer;

/*
 * Create a deformer for the first "natts" attributes, in
 * CurrentMemoryContext.  The descriptor is borrowed.
 */
extern TupleDeformer *tuple_deformer_new(TupleDesc tupdesc, int natts);

/*
 * Fill in the value of each attribute, as heap_deform_tuple() does.
 * Compressed and out-of-line values remain as they are stored.  Columns that
 * were added after the tuple was written get the default with which they were
 * added.
 *
 * Returns the offset of the end of the last value in the tuple, or 0 if the
 * tuple is damaged: its header or a value exceeds its t_len bytes, or a value
 * is a pointer to memory.  t_len must be at least the size of a header.
 * Nothing outside of these bytes is read.
 */
extern Size tuple_deform(TupleDeformer *deformer, HeapTuple tuple);

#endif							/* PARDUMP_HEAP_READER_H */

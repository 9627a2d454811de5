/*-------------------------------------------------------------------------
 *
 * heap_reader.c
 *	  Finds the tuples of heap blocks that a snapshot sees, and splits tuples
 *	  into values.
 *
 * chunk_reader.c and fingerprint.c read block ranges with a HeapReader;
 * index/heap_entries.c uses the lower level, HeapBlocks.  toast_reader.c,
 * planner.c and load/raw_loader.c also deform tuples with this code.
 *
 * The visible tuples of a page are found at once, with a share lock on the
 * page, and are then read with only a pin.  This is the method of
 * heapgetpage() (heap_prepare_pagescan() since 17).  The pin is enough: a
 * backend that moves or removes tuples on a page needs a cleanup lock, for
 * which it waits until no other backend has pinned the page
 * (src/backend/storage/buffer/README).  Tuples that others insert or delete
 * in the meantime do not matter, as the visible ones are already known.
 *
 * Unlike heapgetpage(), this does not prune the page: a dump should not
 * change the table.  Only the tests of visibility may set hint bits.
 *
 * A page may be damaged.  The server's own code trusts the contents of pages.
 * The code here checks each line pointer and each length before it is used,
 * so that damage is an error, and never leads to reading other memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "storage/predicate.h"
#include "utils/relcache.h"

#include "bytes/varlena.h"
#include "read/heap_reader.h"

/* ----------
 * Reads a range of heap blocks.
 * ----------
 */

/*
 * The largest range that a process takes at once: 4 MB, so that the kernel
 * notices sequential reads.  Smaller tables have MIN_RANGES ranges, so that
 * all processes finish at about the same time.
 */
#define MAX_RANGE_BLOCKS (4 * 1024 * 1024 / BLCKSZ)
#define MIN_RANGES 256

/* Greater than all block numbers, also after many additions of a range. */
#define STOPPED (UINT64CONST(1) << 62)

void
shared_blocks_init(SharedBlocks *shared, Relation rel)
{
	shared->end = RelationGetNumberOfBlocks(rel);
	shared->range = Min(Max(shared->end / MIN_RANGES, 1), MAX_RANGE_BLOCKS);
	pg_atomic_init_u64(&shared->next, 0);
}

void
shared_blocks_stop(SharedBlocks *shared)
{
	pg_atomic_write_u64(&shared->next, STOPPED);
}

bool
shared_blocks_stopped(SharedBlocks *shared)
{
	return pg_atomic_read_u64(&shared->next) >= STOPPED;
}

BlockNumber
shared_blocks_taken(SharedBlocks *shared)
{
	return (BlockNumber) Min(pg_atomic_read_u64(&shared->next), shared->end);
}

#ifdef PARDUMP_READ_STREAMS

/*
 * The callback of a read stream, which returns the block to read next.  The
 * stream calls it in advance, so "next" may be far beyond the block that
 * read_stream_next_buffer() has returned last.
 */
static BlockNumber
next_block(ReadStream *stream, void *arg, void *per_buffer_data)
{
	return heap_blocks_advance(arg);
}
#endif

/* Begin with this range, and continue with shared ones unless NULL. */
static void
begin_range(HeapBlocks *blocks, Relation rel, BlockNumber start,
			BlockNumber end, SharedBlocks *shared)
{
	blocks->rel = rel;
	blocks->ring = GetAccessStrategy(BAS_BULKREAD);
	blocks->next = start;
	blocks->end = end;
	blocks->shared = shared;
#ifdef PARDUMP_READ_STREAMS
	blocks->stream = read_stream_begin_relation(READ_STREAM_SEQUENTIAL,
												blocks->ring, rel,
												MAIN_FORKNUM, next_block,
												blocks, 0);
#endif
}

void
heap_blocks_begin(HeapBlocks *blocks, Relation rel, BlockNumber start,
				  BlockNumber end)
{
	begin_range(blocks, rel, start,
				Min(end, RelationGetNumberOfBlocks(rel)), NULL);
}

void
heap_blocks_begin_shared(HeapBlocks *blocks, Relation rel,
						 SharedBlocks *shared)
{
	begin_range(blocks, rel, 0, 0, shared);
}

bool
heap_blocks_take_range(HeapBlocks *blocks)
{
	SharedBlocks *shared = blocks->shared;
	uint64		start;

	if (shared == NULL)
		return false;
	start = pg_atomic_fetch_add_u64(&shared->next, shared->range);
	if (start >= shared->end)
		return false;
	blocks->next = (BlockNumber) start;
	blocks->end = Min(shared->end - blocks->next, shared->range) +
		blocks->next;
	return true;
}

void
heap_blocks_end(HeapBlocks *blocks)
{
#ifdef PARDUMP_READ_STREAMS
	read_stream_end(blocks->stream);
#endif
}

/* ----------
 * Finds the tuples of heap blocks that a snapshot sees.
 * ----------
 */

struct HeapReader
{
	HeapBlocks	blocks;
	Snapshot	snapshot;		/* borrowed */
	Buffer		buffer;			/* of the current page, or InvalidBuffer */
	BlockNumber block;			/* of the current page */
	int			n_visible;		/* visible tuples on the page */
	int			next;			/* index of the next one in visible */
	HeapTupleData tuple;
	OffsetNumber visible[MaxHeapTuplesPerPage];
};

HeapReader *
heap_reader_new(Relation rel, Snapshot snapshot, BlockNumber start,
				BlockNumber end)
{
	HeapReader *reader = palloc0(sizeof(HeapReader));

	reader->snapshot = snapshot;
	reader->buffer = InvalidBuffer;
	reader->tuple.t_tableOid = RelationGetRelid(rel);

	/*
	 * A sequential scan takes this lock in initscan() (heapam.c).  It does
	 * nothing unless the transaction is serializable.
	 */
	PredicateLockRelation(rel, snapshot);

	/*
	 * The size of the table is read now, after the snapshot was taken.  So
	 * all rows that the snapshot sees are in these blocks: blocks that are
	 * added later contain only rows that it does not see.
	 */
	heap_blocks_begin(&reader->blocks, rel, start, end);
	return reader;
}

void
heap_check_lasts(Relation rel)
{
	if (relation_may_be_rolled_back(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read \"%s\", whose file was created in a subtransaction",
						RelationGetRelationName(rel)),
				 errhint("Release the savepoint, or use COPY ... TO STDOUT to read the table.")));
}

/* Set the reader's tuple to the one at this offset of the page. */
static void
point_to(HeapReader *reader, Page page, OffsetNumber offset)
{
	ItemId		item = PageGetItemId(page, offset);

	reader->tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
	reader->tuple.t_len = ItemIdGetLength(item);
	ItemPointerSet(&reader->tuple.t_self, reader->block, offset);
}

/*
 * Raise the error for a damaged line pointer.  The server itself would read
 * the memory to which it points.  InvalidOffsetNumber means that the page has
 * too many line pointers.
 */
static pg_noinline void
damaged_line_pointer(HeapReader *reader, OffsetNumber offset)
{
	ItemPointerSet(&reader->tuple.t_self, reader->block, offset);
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid line pointer in block %u of relation \"%s\"",
					reader->block, RelationGetRelationName(reader->blocks.rel))));
}

/* Store the offsets of the visible tuples of the current page. */
static void
examine_page(HeapReader *reader)
{
	Buffer		buffer = reader->buffer;
	Snapshot	snapshot = reader->snapshot;
	Page		page;
	OffsetNumber max_offset;
	bool		all_visible;
	bool		check_conflicts;

	/*
	 * The share lock prevents changes of tuple headers, except hint bits,
	 * during the tests of visibility.  To read the tuples afterwards, the pin
	 * is enough, as it prevents that they are moved.
	 */
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	page_prefetch_tuples(page);
	TestForOldSnapshot(snapshot, reader->blocks.rel, page);
	max_offset = PageGetMaxOffsetNumber(page);

	/*
	 * If a page is all visible, its tuples need not be tested.  On a standby
	 * the flag may be newer than the snapshot: a full page image may contain
	 * it, and the rows were visible to all transactions of the primary then,
	 * but are not visible to this snapshot (heapam.c: heapgetpage()).
	 */
	all_visible = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
	check_conflicts = CheckForSerializableConflictOutNeeded(reader->blocks.rel,
															snapshot);

	/*
	 * An undamaged page has at most MaxHeapTuplesPerPage line pointers, and
	 * the array of visible tuples has room for this number.
	 */
	reader->n_visible = 0;
	if (max_offset > MaxHeapTuplesPerPage)
		damaged_line_pointer(reader, InvalidOffsetNumber);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= max_offset;
		 offset++)
	{
		ItemId		item = PageGetItemId(page, offset);
		bool		visible = true;

		/* other line pointers are unused, dead, or redirect to a HOT tuple */
		if (!ItemIdIsNormal(item))
			continue;
		if (unlikely(!heap_item_is_sound(item)))
			damaged_line_pointer(reader, offset);
		if (!all_visible || check_conflicts)
			point_to(reader, page, offset);
		if (!all_visible)
			visible = HeapTupleSatisfiesVisibility(&reader->tuple, snapshot,
												   buffer);
		if (check_conflicts)
			HeapCheckForSerializableConflictOut(visible, reader->blocks.rel,
												&reader->tuple, buffer,
												snapshot);
		if (visible)
			reader->visible[reader->n_visible++] = offset;
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

	/* later errors must not name the tuple that was tested last */
	ItemPointerSetInvalid(&reader->tuple.t_self);
}

HeapTuple
heap_reader_next(HeapReader *reader)
{
	while (reader->next >= reader->n_visible)
	{
		/* interrupts are tested once per page, while no page is locked */
		CHECK_FOR_INTERRUPTS();
		if (BufferIsValid(reader->buffer))
			ReleaseBuffer(reader->buffer);
		/* an error in the next page must not name the last tuple */
		ItemPointerSetInvalid(&reader->tuple.t_self);
		reader->buffer = heap_blocks_next(&reader->blocks);
		reader->next = reader->n_visible = 0;
		if (!BufferIsValid(reader->buffer))
			return NULL;
		reader->block = BufferGetBlockNumber(reader->buffer);
		examine_page(reader);
	}
	point_to(reader, BufferGetPage(reader->buffer),
			 reader->visible[reader->next++]);
	return &reader->tuple;
}

void
heap_row_errcontext(Relation rel, const ItemPointerData *place,
					AttrNumber column)
{
	BlockNumber block = ItemPointerGetBlockNumber(place);
	OffsetNumber offset = ItemPointerGetOffsetNumber(place);

	if (column != InvalidAttrNumber)
		errcontext("row at ctid (%u,%u) of table \"%s\", column \"%s\"",
				   block, offset, RelationGetRelationName(rel),
				   NameStr(TupleDescAttr(RelationGetDescr(rel),
										 column - 1)->attname));
	else
		errcontext("row at ctid (%u,%u) of table \"%s\"",
				   block, offset, RelationGetRelationName(rel));
}

void
heap_reader_errcontext(const HeapReader *reader, AttrNumber column)
{
	if (ItemPointerIsValid(&reader->tuple.t_self))
		heap_row_errcontext(reader->blocks.rel, &reader->tuple.t_self, column);
	else
		errcontext("reading table \"%s\"",
				   RelationGetRelationName(reader->blocks.rel));
}

void
heap_damaged_tuple(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid length of a value in table \"%s\"",
					RelationGetRelationName(rel))));
}

void
heap_reader_free(HeapReader *reader)
{
	if (BufferIsValid(reader->buffer))
		ReleaseBuffer(reader->buffer);
	heap_blocks_end(&reader->blocks);
}

/* ----------
 * Splits heap tuples into values, and checks their lengths.
 *
 * heap_deform_tuple() (src/backend/access/common/heaptuple.c) trusts all
 * lengths, so a single damaged byte can lead it beyond the tuple, the page
 * and shared memory.  Here, the length of each value is checked before the
 * next value is read.  This takes no more time than the server's function,
 * because the properties of an attribute are in eight bytes, and because the
 * attributes of fixed lengths at the start of a tuple need only one check.
 * ----------
 */

TupleDeformer *
tuple_deformer_new(TupleDesc tupdesc, int natts)
{
	TupleDeformer *deformer = palloc(offsetof(TupleDeformer, attributes) +
									 natts * sizeof(StoredAttribute));

	deformer->tupdesc = tupdesc;
	deformer->natts = natts;
	deformer->n_fixed = 0;
	deformer->fixed_bytes = 0;
	deformer->values = palloc(sizeof(Datum) * (natts + 1));
	deformer->isnull = palloc(sizeof(bool) * (natts + 1));
	for (int i = 0; i < natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		StoredAttribute *stored = &deformer->attributes[i];

		stored->len = att->attlen;
		stored->byval = att->attbyval;
		/* aligning 1 returns the alignment in bytes */
		stored->align = (uint8) att_align_nominal(1, att->attalign);
		if (deformer->n_fixed == i && att->attlen > 0)
		{
			stored->offset = TYPEALIGN(stored->align, deformer->fixed_bytes);
			deformer->fixed_bytes = stored->offset + stored->len;
			deformer->n_fixed++;
		}
	}
	return deformer;
}

/*
 * Is the length of the header possible?  It must contain a null bitmap for
 * all attributes that the tuple has according to its header, be aligned, and
 * not exceed the tuple.
 */
static inline bool
header_is_sound(HeapTuple tuple)
{
	HeapTupleHeader header = tuple->t_data;
	Size		least = SizeofHeapTupleHeader;

	if (HeapTupleHasNulls(tuple))
		least += BITMAPLEN(HeapTupleHeaderGetNatts(header));
	return header->t_hoff >= least && header->t_hoff <= tuple->t_len &&
		header->t_hoff == MAXALIGN(header->t_hoff);
}

/*
 * Align a place for a value of this attribute.  As the tuple is aligned, the
 * address can be aligned instead of the offset in the tuple.
 */
static inline const char *
align_place(const char *place, const StoredAttribute *att)
{
	return (const char *) TYPEALIGN(att->align, place);
}

/*
 * Move *place to a varlena value without a short header, and return its size,
 * or 0 if it is damaged.
 *
 * Padding consists of zeros.  Only short headers and TOAST pointers are not
 * aligned, and both begin with a byte that is not zero (tupmacs.h:
 * att_align_pointer).
 */
static Size
long_varlena_size(const char **place, const char *end,
				  const StoredAttribute *att)
{
	const char *aligned = align_place(*place, att);

	if (*place != aligned && *place < end && !VARATT_IS_1B(*place))
	{
		if (**place != '\0')
			return 0;
		*place = aligned;
	}
	return stored_size(*place, end, -1);
}

/*
 * Move *place to the next varlena value, and return its size, or 0 if it is
 * damaged.
 */
static inline Size
next_varlena_size(const char **place, const char *end,
				  const StoredAttribute *att)
{
	/* the header of a TOAST pointer is a short one with size 0 */
	if (likely(*place < end && VARATT_IS_1B(*place) &&
			   VARSIZE_1B(*place) > 0))
		return VARSIZE_1B(*place) <= end - *place ? VARSIZE_1B(*place) : 0;
	return long_varlena_size(place, end, att);
}

/* Fill in the first attributes, whose offsets are always the same. */
static inline void
deform_fixed(const TupleDeformer *deformer, const char *data)
{
	Datum	   *values = deformer->values;
	bool	   *isnull = deformer->isnull;

	for (int i = 0; i < deformer->n_fixed; i++)
	{
		const StoredAttribute *att = &deformer->attributes[i];

		values[i] = fetch_att(data + att->offset, att->byval, att->len);
		isnull[i] = false;
	}
}

Size
tuple_deform(TupleDeformer *deformer, HeapTuple tuple)
{
	Datum	   *values = deformer->values;
	bool	   *isnull = deformer->isnull;
	HeapTupleHeader header = tuple->t_data;
	const uint8 *bitmap = HeapTupleHasNulls(tuple) ? header->t_bits : NULL;
	const char *place = (const char *) header + header->t_hoff;
	const char *end = (const char *) header + tuple->t_len;
	int			n_stored = Min(HeapTupleHeaderGetNatts(header),
							   deformer->natts);
	int			i = 0;

	if (unlikely(!header_is_sound(tuple)))
		return 0;

	/* one check for all attributes before the first of varying length */
	if (likely(bitmap == NULL && n_stored >= deformer->n_fixed &&
			   end - place >= deformer->fixed_bytes))
	{
		deform_fixed(deformer, place);
		place += deformer->fixed_bytes;
		i = deformer->n_fixed;
	}

	for (; i < n_stored; i++)
	{
		const StoredAttribute *att = &deformer->attributes[i];
		Size		size;

		isnull[i] = bitmap != NULL && att_isnull(i, bitmap);
		if (isnull[i])
		{
			values[i] = (Datum) 0;
			continue;
		}

		/* whether a varlena value is aligned depends on its header */
		if (att->len == -1)
			size = next_varlena_size(&place, end, att);
		else
		{
			place = align_place(place, att);
			size = stored_size(place, end, att->len);
		}
		if (unlikely(size == 0))
			return 0;
		values[i] = att->len == -1 ? PointerGetDatum(place)
			: fetch_att(place, att->byval, att->len);
		place += size;
	}

	/*
	 * Columns that were added after the tuple was written have the value that
	 * ALTER TABLE ADD COLUMN has stored in pg_attribute, or NULL.  A value by
	 * reference points into the descriptor.
	 */
	for (; i < deformer->natts; i++)
		values[i] = getmissingattr(deformer->tupdesc, i + 1, &isnull[i]);
	return place - (const char *) header;
}

/*-------------------------------------------------------------------------
 *
 * heap_reader.c
 *	  Finds the tuples of heap blocks that a snapshot sees, and takes tuples
 *	  apart.
 *
 * A page is examined as a whole, under a share lock, and then read under a
 * pin alone, as heapgetpage() (heap_prepare_pagescan() since 17) does it.
 * The pin is enough for that: a backend that moves or removes tuples on a
 * page needs a cleanup lock, which waits until no other backend has pinned
 * the page (src/backend/storage/buffer/README).  Tuples that others add or
 * delete meanwhile do not matter, as the visible ones are already known.
 *
 * Unlike in heapgetpage(), the page is not pruned: a dump leaves the table as
 * it is.  Only hint bits may be set, by the tests of visibility.
 *
 * A page may be damaged, and the server's own code believes what it finds
 * there.  The code here looks at each line pointer and at each length before
 * it follows them, so that damage is an error and never a read of other
 * memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tupmacs.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/relcache.h"

#include "base/server_compat.h"
#include "bytes/varlena.h"
#include "read/heap_reader.h"

/* ----------
 * Reads a range of heap blocks.
 * ----------
 */

#ifdef PARDUMP_READ_STREAMS

/*
 * The callback that a read stream asks for the block to read next.  The
 * stream calls it ahead of read_stream_next_buffer(), so that "next" is
 * beyond the block whose buffer was returned last.
 */
static BlockNumber
next_block(ReadStream *stream, void *arg, void *per_buffer_data)
{
	HeapBlocks *blocks = arg;

	return blocks->next < blocks->end ? blocks->next++ : InvalidBlockNumber;
}
#endif

void
heap_blocks_begin(HeapBlocks *blocks, Relation rel, BlockNumber start,
				  BlockNumber end)
{
	blocks->rel = rel;
	blocks->ring = GetAccessStrategy(BAS_BULKREAD);
	blocks->next = start;
	blocks->end = Min(end, RelationGetNumberOfBlocks(rel));
#ifdef PARDUMP_READ_STREAMS
	blocks->stream = read_stream_begin_relation(READ_STREAM_SEQUENTIAL,
												blocks->ring, rel,
												MAIN_FORKNUM, next_block,
												blocks, 0);
#endif
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
	Buffer		buffer;			/* the current page, or InvalidBuffer */
	BlockNumber block;			/* of it */
	int			n_visible;		/* tuples on it */
	int			next;			/* of them */
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
	 * The lock that a sequential scan takes in initscan() (heapam.c).  It
	 * does nothing unless the transaction is serializable.
	 */
	PredicateLockRelation(rel, snapshot);

	/*
	 * The size is taken after the snapshot, so that each row that the
	 * snapshot sees is in one of these blocks.  Blocks that are added later
	 * hold only rows that it does not see.
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

static void
point_to(HeapReader *reader, Page page, OffsetNumber offset)
{
	ItemId		item = PageGetItemId(page, offset);

	reader->tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
	reader->tuple.t_len = ItemIdGetLength(item);
	ItemPointerSet(&reader->tuple.t_self, reader->block, offset);
}

/*
 * The server itself would read what its damaged line pointers point to.
 * InvalidOffsetNumber means that there are too many of them.
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

/* Collect the visible tuples of the current page. */
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
	 * The tests of visibility need tuple headers that do not change.  To read
	 * the tuples afterwards the pin is enough: it keeps them where they are.
	 */
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	page_prefetch_tuples(page);
	TestForOldSnapshot(snapshot, reader->blocks.rel, page);
	max_offset = PageGetMaxOffsetNumber(page);

	/*
	 * A page whose tuples all transactions see needs no test of each.  On a
	 * standby the flag may be ahead of the snapshot: it may have come with a
	 * full page image, when rows were visible to all transactions of the
	 * primary, but not yet to this snapshot (heapam.c: heapgetpage()).
	 */
	all_visible = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
	check_conflicts = CheckForSerializableConflictOutNeeded(reader->blocks.rel,
															snapshot);

	/*
	 * No sound page has more line pointers than MaxHeapTuplesPerPage, and the
	 * array of the visible ones has room for no more.
	 */
	reader->n_visible = 0;
	if (max_offset > MaxHeapTuplesPerPage)
		damaged_line_pointer(reader, InvalidOffsetNumber);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= max_offset;
		 offset++)
	{
		ItemId		item = PageGetItemId(page, offset);
		bool		visible = true;

		/* others are unused or dead, or redirect to a tuple of a HOT chain */
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

	/* no error names the tuple that was tested last */
	ItemPointerSetInvalid(&reader->tuple.t_self);
}

HeapTuple
heap_reader_next(HeapReader *reader)
{
	while (reader->next >= reader->n_visible)
	{
		/* once a page is often enough, and no page is locked here */
		CHECK_FOR_INTERRUPTS();
		if (BufferIsValid(reader->buffer))
			ReleaseBuffer(reader->buffer);
		/* an error of reading the next page is not that of the last tuple */
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
 * Takes heap tuples apart without believing their lengths.
 *
 * heap_deform_tuple() (src/backend/access/common/heaptuple.c) follows every
 * length that it meets, so that one damaged byte leads it beyond the tuple,
 * the page, and all of shared memory.  Here each value is looked at before it
 * is stepped over.  That need not cost time: what a step needs of an
 * attribute stands in eight bytes, and where nothing but fixed lengths comes
 * first, one look serves for all of it.
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
		/* the first aligned place behind 0 is the alignment in bytes */
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
 * Do the null bitmap, for all attributes that the tuple claims to have, and
 * the header lie where they can, and do the values begin within the tuple?
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

/* Align a place as TYPEALIGN() does: values are aligned as their tuple is. */
static inline const char *
align_place(const char *place, const StoredAttribute *att)
{
	return (const char *) TYPEALIGN(att->align, place);
}

/*
 * Go to a varlena value whose header is not a short one; 0 if it is damaged.
 * Padding is zero, and only short headers and pointers, which are neither
 * zero nor aligned, stand directly behind the value before (tupmacs.h:
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

/* Go to the varlena value that comes next: its size, 0 if it is damaged. */
static inline Size
next_varlena_size(const char **place, const char *end,
				  const StoredAttribute *att)
{
	/* a pointer's header is that of a short value of size 0 */
	if (likely(*place < end && VARATT_IS_1B(*place) &&
			   VARSIZE_1B(*place) > 0))
		return VARSIZE_1B(*place) <= end - *place ? VARSIZE_1B(*place) : 0;
	return long_varlena_size(place, end, att);
}

/* The first attributes, whose places are always the same. */
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

	/* the one look at all attributes before the first of varying length */
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

		/* only the header of a varlena value says whether it is aligned */
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
	 * ALTER TABLE ADD COLUMN has stored in pg_attribute, or NULL.  By
	 * reference it points into the descriptor.
	 */
	for (; i < deformer->natts; i++)
		values[i] = getmissingattr(deformer->tupdesc, i + 1, &isnull[i]);
	return place - (const char *) header;
}

/*-------------------------------------------------------------------------
 *
 * heap_reader.c
 *	  Finds the tuples of heap blocks that a snapshot sees.
 *
 * A page is examined as a whole, under a share lock, and then read under a
 * pin alone, as heapgetpage() (heap_prepare_pagescan() since 17) does it.
 * Unlike there, the page is not pruned: a dump leaves the table as it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

#include "base/server_compat.h"
#include "heap/block_stream.h"
#include "heap/heap_reader.h"
#include "heap/page_prefetch.h"

struct HeapReader
{
	Relation	rel;			/* borrowed */
	Snapshot	snapshot;		/* borrowed */
	BlockStream *blocks;		/* NULL if there are none */
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

	reader->rel = rel;
	reader->snapshot = snapshot;
	reader->buffer = InvalidBuffer;
	reader->tuple.t_tableOid = RelationGetRelid(rel);

	/* does nothing unless the transaction is serializable */
	PredicateLockRelation(rel, snapshot);

	end = Min(end, RelationGetNumberOfBlocks(rel));
	if (start < end)
		reader->blocks = block_stream_new(rel, start, end);
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
				 errhint("Release the savepoint, or read the table by COPY.")));
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
					reader->block, RelationGetRelationName(reader->rel))));
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
	TestForOldSnapshot(snapshot, reader->rel, page);
	max_offset = PageGetMaxOffsetNumber(page);
	/* on a standby the flag may run ahead of the snapshot */
	all_visible = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
	check_conflicts = CheckForSerializableConflictOutNeeded(reader->rel,
															snapshot);
	reader->n_visible = 0;
	if (max_offset > MaxHeapTuplesPerPage)
		damaged_line_pointer(reader, InvalidOffsetNumber);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= max_offset;
		 offset++)
	{
		ItemId		item = PageGetItemId(page, offset);
		bool		visible = true;

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
			HeapCheckForSerializableConflictOut(visible, reader->rel,
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
		CHECK_FOR_INTERRUPTS();
		if (BufferIsValid(reader->buffer))
			ReleaseBuffer(reader->buffer);
		ItemPointerSetInvalid(&reader->tuple.t_self);
		reader->buffer = reader->blocks ? block_stream_next(reader->blocks)
			: InvalidBuffer;
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

const ItemPointerData *
heap_reader_place(const HeapReader *reader)
{
	return ItemPointerIsValid(&reader->tuple.t_self) ?
		&reader->tuple.t_self : NULL;
}

void
heap_reader_free(HeapReader *reader)
{
	if (BufferIsValid(reader->buffer))
		ReleaseBuffer(reader->buffer);
	if (reader->blocks)
		block_stream_free(reader->blocks);
	pfree(reader);
}

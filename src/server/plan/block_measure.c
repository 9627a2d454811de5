/*-------------------------------------------------------------------------
 *
 * block_measure.c
 *	  Counts the rows of one heap block and the bytes a dump of them has to
 *	  move.
 *
 * The block is read as heapgetpage() (page_collect_tuples() since 17) reads
 * it, every line pointer tested by the snapshot, which sees at most one
 * version of a HOT chain.  No predicate lock is taken, since an estimate of
 * sizes does not read the rows' values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "heap/heap_reader.h"
#include "heap/tuple_deform.h"
#include "plan/block_measure.h"

/* What COPY's text format spends on a NULL ("\N") and after each column. */
#define NULL_BYTES			2
#define SEPARATOR_BYTES		1

struct BlockMeasurer
{
	Relation	rel;			/* borrowed */
	Snapshot	snapshot;		/* borrowed */
	BufferAccessStrategy ring;
	MemoryContext block_context;	/* reset for every block */
	HeapTupleData tuple;		/* the one being looked at */

	/* one element for each attribute of rel */
	TupleDeformer *deformer;
	bool	   *is_dumped;
	Datum	   *values;
	bool	   *isnull;
};

BlockMeasurer *
block_measurer_new(Relation rel, Snapshot snapshot)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	BlockMeasurer *measurer = palloc0(sizeof(BlockMeasurer));

	measurer->rel = rel;
	measurer->snapshot = snapshot;
	measurer->ring = GetAccessStrategy(BAS_BULKREAD);
	measurer->block_context = AllocSetContextCreate(CurrentMemoryContext,
													"pg_pardump block",
													ALLOCSET_SMALL_SIZES);
	measurer->deformer = tuple_deformer_new(tupdesc, tupdesc->natts);
	measurer->values = palloc(sizeof(Datum) * tupdesc->natts);
	measurer->isnull = palloc(sizeof(bool) * tupdesc->natts);
	measurer->is_dumped = palloc(sizeof(bool) * tupdesc->natts);

	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		measurer->is_dumped[i] = !att->attisdropped && !att->attgenerated;
	}

	return measurer;
}

void
block_measurer_free(BlockMeasurer *measurer)
{
	FreeAccessStrategy(measurer->ring);
	MemoryContextDelete(measurer->block_context);
	pfree(measurer->deformer);
	pfree(measurer->values);
	pfree(measurer->isnull);
	pfree(measurer->is_dumped);
	pfree(measurer);
}

/* The bytes of one value that is not null, without separator. */
static Size
value_bytes(Form_pg_attribute att, Datum value)
{
	if (att->attlen > 0)
		return att->attlen;
	if (att->attlen == -1)
	{
		Size		bytes = toast_raw_datum_size(value) - VARHDRSZ;

		/* a size that no value can have is damage */
		return bytes <= MaxAllocSize ? bytes : 0;
	}
	return strlen(DatumGetCString(value));
}

/* What is damaged is for the reader to complain of: such a row counts 0. */
static double
row_bytes(BlockMeasurer *measurer)
{
	TupleDesc	tupdesc = RelationGetDescr(measurer->rel);
	double		bytes = 0;

	/* Fills in the values of columns added after the row was written. */
	if (!tuple_deform(measurer->deformer, &measurer->tuple, measurer->values,
					  measurer->isnull))
		return 0;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (!measurer->is_dumped[i])
			continue;
		bytes += SEPARATOR_BYTES;
		if (measurer->isnull[i])
			bytes += NULL_BYTES;
		else
			bytes += value_bytes(TupleDescAttr(tupdesc, i),
								 measurer->values[i]);
	}

	/* A row without columns is still a line. */
	return Max(bytes, SEPARATOR_BYTES);
}

static DumpAmount
page_amount(BlockMeasurer *measurer, Buffer buffer, BlockNumber block)
{
	Page		page = BufferGetPage(buffer);
	HeapTuple	tuple = &measurer->tuple;
	DumpAmount	amount = {0, 0};
	OffsetNumber last;

	/* The relation was extended, and nothing was written there yet. */
	if (PageIsNew(page))
		return amount;

	/* what is damaged is for the reader to complain of */
	last = Min(PageGetMaxOffsetNumber(page), MaxHeapTuplesPerPage);
	for (OffsetNumber off = FirstOffsetNumber; off <= last; off++)
	{
		ItemId		lp = PageGetItemId(page, off);
		double		bytes;

		if (!ItemIdIsNormal(lp) || !heap_item_is_sound(lp))
			continue;

		tuple->t_data = (HeapTupleHeader) PageGetItem(page, lp);
		tuple->t_len = ItemIdGetLength(lp);
		tuple->t_tableOid = RelationGetRelid(measurer->rel);
		ItemPointerSet(&tuple->t_self, block, off);

		if (!HeapTupleSatisfiesVisibility(tuple, measurer->snapshot, buffer))
			continue;
		bytes = row_bytes(measurer);
		amount.rows += bytes > 0 ? 1 : 0;
		amount.bytes += bytes;
	}

	return amount;
}

/*
 * Tell with any error where it was met: a visibility test may not find the
 * transaction that a damaged row names.
 */
static void
add_place(void *arg)
{
	BlockMeasurer *measurer = arg;

	if (ItemPointerIsValid(&measurer->tuple.t_self))
		heap_row_errcontext(measurer->rel, &measurer->tuple.t_self, NULL);
	else
		errcontext("planning chunks of table \"%s\"",
				   RelationGetRelationName(measurer->rel));
}

DumpAmount
block_measure(BlockMeasurer *measurer, BlockNumber block)
{
	ErrorContextCallback place = {error_context_stack, add_place, measurer};
	MemoryContext old_context;
	DumpAmount	amount;
	Buffer		buffer;

	/* Visibility tests may allocate, e.g. the members of a multixact. */
	old_context = MemoryContextSwitchTo(measurer->block_context);

	ItemPointerSetInvalid(&measurer->tuple.t_self);
	error_context_stack = &place;
	buffer = ReadBufferExtended(measurer->rel, MAIN_FORKNUM, block,
								RBM_NORMAL, measurer->ring);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	amount = page_amount(measurer, buffer, block);
	UnlockReleaseBuffer(buffer);
	error_context_stack = place.previous;

	MemoryContextSwitchTo(old_context);
	MemoryContextReset(measurer->block_context);

	return amount;
}

/*-------------------------------------------------------------------------
 *
 * heap_entries.c
 *	  Reads a table and makes an index entry of each row.
 *
 * index_build.c calls this when it builds an index, and parallel_build.c in
 * each process that reads a part of the table.
 *
 * In the server, heapam_index_build_range_scan() decides which tuples belong
 * in an index (src/backend/access/heap/heapam_handler.c).  This file only
 * handles tables for which the decision is simple.  Live tuples, and tuples
 * that this transaction has inserted and not deleted, are in the index; dead
 * tuples are not.  If a table contains anything else, the server builds the
 * index: a tuple that an old snapshot may still see, or that another
 * transaction is inserting or deleting, a member of a HOT chain, or a damaged
 * page.  So the cases in which the server sets indcheckxmin, or waits, do not
 * occur here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "commands/progress.h"
#include "pgstat.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "index/heap_entries.h"

typedef struct EntryScan
{
	Relation	heap;
	const IndexKey *key;
	EntryStore *store;
	HeapEntries *read;
	TupleDeformer *deformer;
	TransactionId oldest;		/* older ones' deletions are seen by all */
	/* results of the last look-ups, or InvalidTransactionId */
	TransactionId committed;	/* a transaction that has committed */
	TransactionId own;			/* this transaction or a part of it */
	/* the entries of the current page */
	int			n_entries;
	uint64	   *entries;
	uint64	   *end;			/* of the entries */
} EntryScan;

/*
 * Has a transaction committed, or is it this one?  If so, the tuples that it
 * inserted are live unless they were deleted.  The tests are made in the
 * order of HeapTupleSatisfiesVacuum(), as a transaction is first removed from
 * the running ones and may have committed only then.
 */
static inline bool
inserted_for_good(EntryScan *scan, TransactionId xid)
{
	if (xid == scan->committed || xid == scan->own)
		return true;
	if (TransactionIdIsCurrentTransactionId(xid))
		scan->own = xid;
	else if (!TransactionIdIsInProgress(xid) && TransactionIdDidCommit(xid))
		scan->committed = xid;
	else
		return false;
	return true;
}

/*
 * Does the tuple belong in the index?  If the server has to decide that,
 * returns false and sets *reason.
 */
static bool
is_live(EntryScan *scan, HeapTuple tuple, Buffer buffer, const char **reason)
{
	uint16		infomask = tuple->t_data->t_infomask;

	/* the first tests of HeapTupleSatisfiesVacuum(), without a call */
	if ((infomask & (HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID)) ==
		(HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID))
		return true;
	if ((infomask & (HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID |
					 HEAP_XMAX_INVALID | HEAP_MOVED)) == HEAP_XMAX_INVALID &&
		TransactionIdIsNormal(HeapTupleHeaderGetRawXmin(tuple->t_data)) &&
		inserted_for_good(scan, HeapTupleHeaderGetRawXmin(tuple->t_data)))
		return true;

	switch (HeapTupleSatisfiesVacuum(tuple, scan->oldest, buffer))
	{
		case HEAPTUPLE_LIVE:
			return true;
		case HEAPTUPLE_DEAD:
			return false;
		case HEAPTUPLE_INSERT_IN_PROGRESS:
			/* a row of this transaction that it has not deleted */
			if (TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)))
				return true;
			*reason = "a row is being inserted";
			return false;
		case HEAPTUPLE_RECENTLY_DEAD:
			*reason = "an older snapshot may see a deleted row";
			return false;
		case HEAPTUPLE_DELETE_IN_PROGRESS:
			*reason = "a row is being deleted";
			return false;
	}
	*reason = "a row is in an unknown state";
	return false;
}

/*
 * Make the entry of a tuple.  Returns NULL, or why the server has to build
 * the index.
 */
static inline const char *
make_entry(EntryScan *scan, HeapTuple tuple)
{
	const IndexKey *key = scan->key;
	uint64		place = (uint64) ItemPointerGetBlockNumber(&tuple->t_self) <<
		INDEX_OFFSET_BITS | ItemPointerGetOffsetNumber(&tuple->t_self);
	uint64		sum;

	if (tuple_deform(scan->deformer, tuple) == 0)
		return "a row is damaged";
	if (!index_key_encode(key, scan->deformer->values, scan->deformer->isnull,
						  place, scan->end, &sum))
		return "a value has to be compared by the server";
	scan->end += index_entry_words(key, scan->end);
	scan->n_entries++;
	scan->read->sum += index_sum_place(sum, &tuple->t_self);
	return NULL;
}

/* Make the entries of a page, which is locked.  Returns as make_entry(). */
static const char *
read_page(EntryScan *scan, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber max_offset = PageGetMaxOffsetNumber(page);
	const char *reason = NULL;
	HeapTupleData tuple;

	scan->n_entries = 0;
	scan->end = scan->entries;
	page_prefetch_tuples(page);
	if (max_offset > MaxHeapTuplesPerPage)
		return "a page is damaged";
	tuple.t_tableOid = RelationGetRelid(scan->heap);
	for (OffsetNumber offset = FirstOffsetNumber;
		 offset <= max_offset && reason == NULL; offset++)
	{
		ItemId		item = PageGetItemId(page, offset);

		if (ItemIdIsRedirected(item))
			return "it has HOT chains";
		if (!ItemIdIsNormal(item))
			continue;
		if (unlikely(!heap_item_is_sound(item)))
			return "a page is damaged";
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, BufferGetBlockNumber(buffer), offset);
		if (HeapTupleHeaderIsHeapOnly(tuple.t_data))
			return "it has HOT chains";
		if (is_live(scan, &tuple, buffer, &reason))
			reason = make_entry(scan, &tuple);
	}
	return reason;
}

/*
 * Store the entries of a page.  This can take long and be canceled, so it is
 * done after the page was unlocked.
 */
static void
store_entries(EntryScan *scan)
{
	for (const uint64 *entry = scan->entries; entry < scan->end;
		 entry += index_entry_words(scan->key, entry))
		entry_store_add(scan->store, entry);
	scan->read->n += scan->n_entries;
}

/*
 * Report how much of the table was read, by all processes.  Only the leader's
 * report is shown.
 */
static void
report_progress(const EntryScan *scan, SharedBlocks *shared)
{
	if (IsParallelWorker())
		return;
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
								 shared ? shared_blocks_taken(shared)
								 : scan->read->n_blocks);
}

const char *
heap_entries_read(Relation heap, const IndexKey *key, EntryStore *store,
				  SharedBlocks *shared, HeapEntries *read)
{
	EntryScan	scan = {0};
	HeapBlocks	blocks;
	BlockNumber end;
	const char *reason = NULL;
	Buffer		buffer;

	scan.heap = heap;
	scan.key = key;
	scan.store = store;
	scan.read = read;
	scan.deformer = tuple_deformer_new(RelationGetDescr(heap),
									   key->last_attnum);
	scan.entries = palloc(MaxHeapTuplesPerPage * key->max_words *
						  sizeof(uint64));
	scan.oldest = GetOldestNonRemovableTransactionId(heap);
	memset(read, 0, sizeof(HeapEntries));
	if (shared)
		heap_blocks_begin_shared(&blocks, heap, shared);
	else
		heap_blocks_begin(&blocks, heap, 0, InvalidBlockNumber);
	end = shared ? shared->end : blocks.end;
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, end);

	/* index_key_init() chose the bits of a place for the size at that time */
	if (end != 0 &&
		((uint64) (end - 1) << INDEX_OFFSET_BITS |
		 MaxHeapTuplesPerPage) >> key->place_bits != 0)
		reason = "its table has grown";
	/* BufferIsValid() is a macro that may evaluate its argument repeatedly */
	while (reason == NULL &&
		   (buffer = heap_blocks_next(&blocks)) != InvalidBuffer)
	{
		CHECK_FOR_INTERRUPTS();
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		reason = read_page(&scan, buffer);
		UnlockReleaseBuffer(buffer);
		store_entries(&scan);
		read->n_blocks++;
		report_progress(&scan, shared);
	}

	/*
	 * The server's builds are sequential scans in pg_stat_all_tables.  The
	 * second macro is for indexes only by its name: both kinds of relations
	 * have one counter, to which the macro for tables only adds 1.
	 */
	pgstat_count_heap_scan(heap);
	pgstat_count_index_tuples(heap, read->n);
	if (reason == NULL && shared == NULL && read->n_blocks != end)
		reason = "its blocks were not all read";
	heap_blocks_end(&blocks);
	return reason;
}

/*-------------------------------------------------------------------------
 *
 * tree_writer.c
 *	  Writes the pages of a btree index from sorted entries.
 *
 * index_build.c passes the entries.
 *
 * All bytes of the pages are those that the server would write.  Each level
 * has a page that is being filled.  When this page is full, its last tuple
 * becomes its high key and the first tuple of the next page, and the level
 * above gets a link to it.  The rules for full pages, and the order in which
 * blocks get their numbers, are those of _bt_load(), _bt_buildadd() and
 * _bt_uppershutdown() in src/backend/access/nbtree/nbtsort.c of 15 to 18.
 * Where nbtree has a function that can be called, it is called: for high
 * keys, posting lists and the metapage.
 *
 * An index with a mistake would give wrong results of queries, so the input
 * and the output are checked.  Each entry must be greater than the one
 * before.  At the end of each leaf page, and between some different keys, the
 * server's comparison function must agree.  The sum over the bytes of all
 * finished leaf pages must be the sum over the rows of the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/server_compat.h"
#include "base/wal_writer.h"
#include "index/tree_writer.h"

#ifdef PARDUMP_FAST_INDEX

#include "access/nbtree.h"
#include "access/xloginsert.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "pgstat.h"
#include "storage/smgr.h"

/*
 * The server's comparison function compares this number of keys at the start
 * of an index, so that a wrong order is found even in a small index.  After
 * that it compares one of COMPARED_OF keys, which takes little time.
 */
#define FIRST_COMPARED 1000
#define COMPARED_OF 256

/* ----------
 * Pages of a new relation
 *
 * These functions write pages to WAL, if that is necessary, and to the file,
 * with checksums.  Since 17 the server has functions for it
 * (storage/bulk_write.h).  Before, each access method contained code of its
 * own; the functions below do the same as _bt_blwritepage() and _bt_load() of
 * 16 (src/backend/access/nbtree/nbtsort.c).
 * ----------
 */

#ifdef PARDUMP_BULK_WRITE

typedef BulkWriteState PageWriter;

#define page_writer_new(rel) smgr_bulk_start_rel(rel, MAIN_FORKNUM)
#define page_writer_page(writer) ((Page) smgr_bulk_get_buf(writer))
#define page_writer_write(writer, block, page) \
	smgr_bulk_write(writer, block, (BulkWriteBuffer) (page), true)
#define page_writer_finish(writer) smgr_bulk_finish(writer)
#else							/* PARDUMP_BULK_WRITE */

typedef struct PageWriter
{
	Relation	rel;			/* borrowed */
	bool		use_wal;
	BlockNumber n_written;		/* blocks of the file */
	Page		zero_page;
} PageWriter;

/*
 * Create a writer for the main fork of an empty relation, which other
 * backends do not see yet.  Allocates in CurrentMemoryContext.
 */
static PageWriter *
page_writer_new(Relation rel)
{
	PageWriter *writer = palloc0(sizeof(PageWriter));

	writer->rel = rel;
	writer->use_wal = RelationNeedsWAL(rel);
	writer->zero_page = new_io_page();
	memset(writer->zero_page, 0, BLCKSZ);
	return writer;
}

/* Allocate memory for a page, whose content is not initialized. */
static Page
page_writer_page(PageWriter *writer)
{
	return new_io_page();
}

/*
 * Write a page that page_writer_page() has returned.  Blocks can be written
 * in any order.  The memory of the page belongs to the writer afterwards.
 */
static void
page_writer_write(PageWriter *writer, BlockNumber block, Page page)
{
	Relation	rel = writer->rel;

	if (writer->use_wal)
		log_newpage(&rel_file_of(rel), MAIN_FORKNUM, block, page, true);

	/*
	 * A page of an upper level is written later than some pages after it in
	 * the file.  Until then its place is filled with zeros, which is a valid
	 * new page without a checksum.
	 */
	while (block > writer->n_written)
		smgrextend(RelationGetSmgr(rel), MAIN_FORKNUM, writer->n_written++,
				   writer->zero_page, true);

	/* "true" below: no fsync is requested, as page_writer_finish() syncs */
	PageSetChecksumInplace(page, block);
	if (block == writer->n_written)
	{
		smgrextend(RelationGetSmgr(rel), MAIN_FORKNUM, block, page, true);
		writer->n_written++;
	}
	else
		smgrwrite(RelationGetSmgr(rel), MAIN_FORKNUM, block, page, true);
	pfree(page);
}

/*
 * Finish, after all pages have been written, and free the writer.  The pages
 * are on the disk then, or will be at the commit of the transaction or after
 * the next checkpoint, as in the server's own builds.
 */
static void
page_writer_finish(PageWriter *writer)
{
	/*
	 * The file must be synced even if all pages are in WAL.  They are not in
	 * shared buffers, so a checkpoint in the meantime has not written them,
	 * and after a crash WAL is replayed only from that checkpoint on.
	 *
	 * If a permanent relation does not need WAL, its file is synced at
	 * commit.  The file of an unlogged relation must survive a shutdown, but
	 * nothing else would sync it.
	 */
	if (writer->use_wal ||
		writer->rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		smgrimmedsync(RelationGetSmgr(writer->rel), MAIN_FORKNUM);
	pfree(writer->zero_page);
	pfree(writer);
}

#endif							/* PARDUMP_BULK_WRITE */

/* ----------
 * The tree
 * ----------
 */

/* A level of the tree, and its page that is being filled. */
typedef struct Level
{
	uint32		number;			/* 0 for leaves */
	Page		page;
	BlockNumber block;
	OffsetNumber last;			/* the last item; P_HIKEY for none yet */
	Size		last_extra;		/* bytes of the last item's posting list */
	Size		full;			/* a page with less free space is full */
	IndexTuple	low_key;		/* of the page, for the link to it */
	struct Level *up;
} Level;

/* An index tuple that is formed here. */
typedef union TupleSpace
{
	IndexTupleData tuple;
	char		space[KEY_TUPLE_BYTES];
	uint64		align;
} TupleSpace;

struct TreeWriter
{
	Relation	heap;
	Relation	index;
	const IndexKey *key;
	bool		unique;
	bool		nulls_equal;	/* NULLS NOT DISTINCT */
	bool		merges;			/* makes posting lists of equal keys */
	BTScanInsert scan_key;
	PageWriter *pages;
	BlockNumber n_blocks;		/* block numbers in use */
	Level	   *leaf;
	Size		max_posting;	/* bytes of a tuple with a posting list */
	/* the last entries with the same key, which are not on a page yet */
	uint64	   *pending;		/* the first of them */
	Size		pending_size;	/* of the tuple of one of them */
	ItemPointerData *places;
	int			n_places;
	uint64	   *last;			/* copy of the last entry */
	TupleSpace	tuple;			/* of pending entries with texts */
	uint64		n_added;
	uint64		n_keys;			/* different keys, without the first one */
	/* for the leaf pages that are finished */
	uint64		n_stored;
	uint64		sum_stored;
};

/* Raise the error for a failed check. */
static pg_noinline void
wrong_index(const TreeWriter *writer, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("pg_pardump failed to build index \"%s\" of table \"%s\": %s",
					RelationGetRelationName(writer->index),
					RelationGetRelationName(writer->heap), what),
			 errhint("Run SET pg_pardump.fast_index = off, and create the index again.")));
}

/* ----------
 * Pages and levels
 * ----------
 */

static void add_tuple(TreeWriter *writer, Level *level, IndexTuple tuple,
					  Size extra);

/* Initialize a page of a level, as _bt_blnewpage() does. */
static Page
new_page(TreeWriter *writer, uint32 level)
{
	Page		page = page_writer_page(writer->pages);
	BTPageOpaque opaque;

	_bt_pageinit(page, BLCKSZ);
	opaque = BTPageGetOpaque(page);
	opaque->btpo_prev = opaque->btpo_next = P_NONE;
	opaque->btpo_level = level;
	opaque->btpo_flags = level > 0 ? 0 : BTP_LEAF;
	opaque->btpo_cycleid = 0;

	/* reserve the line pointer of the high key */
	((PageHeader) page)->pd_lower += sizeof(ItemIdData);
	return page;
}

/* Begin a level with an empty page, which gets the next block number. */
static Level *
new_level(TreeWriter *writer, uint32 number)
{
	Level	   *level = palloc0(sizeof(Level));

	level->number = number;
	level->page = new_page(writer, number);
	level->block = writer->n_blocks++;
	level->last = P_HIKEY;
	level->full = number > 0 ? BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100
		: BTGetTargetPageFreeSpace(writer->index);
	return level;
}

/* Add an item of this size, which must be aligned, and return its place. */
static inline void *
new_item(TreeWriter *writer, Page page, OffsetNumber offset, Size size)
{
	PageHeader	header = (PageHeader) page;

	if (unlikely(header->pd_lower + sizeof(ItemIdData) + size >
				 header->pd_upper))
		wrong_index(writer, "a page has no room for its next tuple");
	header->pd_upper -= size;
	header->pd_lower += sizeof(ItemIdData);
	ItemIdSetNormal(PageGetItemId(page, offset), header->pd_upper, size);
	return (char *) page + header->pd_upper;
}

/*
 * Add a tuple to a page.  Of the first tuple of a page above the leaves, only
 * the link is stored, as _bt_sortaddtup() does.
 */
static void
copy_item(TreeWriter *writer, const Level *level, Page page,
		  OffsetNumber offset, const IndexTupleData *tuple, Size size)
{
	if (level->number > 0 && offset == P_FIRSTKEY)
	{
		IndexTupleData link = *tuple;

		link.t_info = sizeof(IndexTupleData);
		BTreeTupleSetNAtts(&link, 0, false);
		memcpy(new_item(writer, page, offset, sizeof(link)), &link,
			   sizeof(link));
	}
	else
		memcpy(new_item(writer, page, offset, size), tuple, size);
}

/* Raise an error unless two leaf tuples have the server's order. */
static void
check_order(TreeWriter *writer, IndexTuple left, IndexTuple right)
{
	TupleDesc	tupdesc = RelationGetDescr(writer->index);

	for (int i = 0; i < writer->key->n_columns; i++)
	{
		ScanKey		scan_key = &writer->scan_key->scankeys[i];
		bool		left_null;
		bool		right_null;
		Datum		left_value = index_getattr(left, i + 1, tupdesc,
											   &left_null);
		Datum		right_value = index_getattr(right, i + 1, tupdesc,
												&right_null);
		int32		order;

		if (left_null && right_null)
			continue;
		if (left_null || right_null)
			order = left_null == ((scan_key->sk_flags & SK_BT_NULLS_FIRST) != 0)
				? -1 : 1;
		else
		{
			order = DatumGetInt32(FunctionCall2Coll(&scan_key->sk_func,
													scan_key->sk_collation,
													left_value, right_value));
			if (scan_key->sk_flags & SK_BT_DESC)
				INVERT_COMPARE_RESULT(order);
		}
		if (order > 0)
			wrong_index(writer, "the server would order its keys in another way");
		if (order < 0)
			return;
	}
	if (ItemPointerCompare(BTreeTupleGetMaxHeapTID(left),
						   BTreeTupleGetHeapTID(right)) >= 0)
		wrong_index(writer, "rows with the same key are not in order");
}

/* Add the tuples of a leaf page, without its high key, to the sum. */
static void
sum_leaf(TreeWriter *writer, Page page, OffsetNumber first)
{
	OffsetNumber max_offset = PageGetMaxOffsetNumber(page);

	for (OffsetNumber offset = first; offset <= max_offset; offset++)
	{
		IndexTuple	tuple = (IndexTuple) PageGetItem(page,
													 PageGetItemId(page, offset));
		uint64		sum = index_key_sum(writer->key, tuple);
		ItemPointer places = &tuple->t_tid;
		int			n = 1;

		if (BTreeTupleIsPosting(tuple))
		{
			places = BTreeTupleGetPosting(tuple);
			n = BTreeTupleGetNPosting(tuple);
		}
		for (int i = 0; i < n; i++)
			writer->sum_stored += index_sum_place(sum, &places[i]);
		writer->n_stored += n;
	}
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
								 writer->n_stored);
}

/*
 * Finish the page of a level, as it is full.  Its last item is moved to a new
 * page and becomes the high key of this one.  The page is written, and the
 * level above gets a link to it.
 */
static pg_noinline void
finish_page(TreeWriter *writer, Level *level)
{
	Page		page = level->page;
	BlockNumber block = level->block;
	OffsetNumber last = level->last;
	ItemId		item = PageGetItemId(page, last);
	IndexTuple	high_key = (IndexTuple) PageGetItem(page, item);

	CHECK_FOR_INTERRUPTS();
	Assert(last > P_FIRSTKEY);

	/*
	 * The last item is copied to the new page.  On this page, its line
	 * pointer becomes that of the high key.
	 */
	level->page = new_page(writer, level->number);
	level->block = writer->n_blocks++;
	copy_item(writer, level, level->page, P_FIRSTKEY, high_key,
			  ItemIdGetLength(item));
	*PageGetItemId(page, P_HIKEY) = *item;
	ItemIdSetUnused(item);
	((PageHeader) page)->pd_lower -= sizeof(ItemIdData);
	if (level->number == 0)
	{
		IndexTuple	left = (IndexTuple) PageGetItem(page,
													PageGetItemId(page, last - 1));
		IndexTuple	truncated;

		/*
		 * The high key of a leaf only needs the attributes that distinguish
		 * it from the tuple before.
		 */
		check_order(writer, left, high_key);
		truncated = _bt_truncate(writer->index, left, high_key,
								 writer->scan_key);
		if (!PageIndexTupleOverwrite(page, P_HIKEY, (Item) truncated,
									 IndexTupleSize(truncated)))
			wrong_index(writer, "a page has no room for its high key");
		pfree(truncated);
		high_key = (IndexTuple) PageGetItem(page,
											PageGetItemId(page, P_HIKEY));

		/* summed up only now, as the shorter high key has moved the tuples */
		sum_leaf(writer, page, P_FIRSTKEY);
	}

	/* the link to this page is its low key, the high key of the one before */
	if (level->up == NULL)
		level->up = new_level(writer, level->number + 1);
	BTreeTupleSetDownLink(level->low_key, block);
	add_tuple(writer, level->up, level->low_key, 0);
	pfree(level->low_key);
	level->low_key = CopyIndexTuple(high_key);
	BTPageGetOpaque(page)->btpo_next = level->block;
	BTPageGetOpaque(level->page)->btpo_prev = block;
	page_writer_write(writer->pages, block, page);
	wal_writer_wake();
	level->last = P_FIRSTKEY;
}

/*
 * Make sure that the page of a level has room for an item of this size, and
 * finish the page if it is full.  "extra" is the size of the item's posting
 * list, which would not be part of the high key if the item became one.
 */
static inline void
make_room(TreeWriter *writer, Level *level, Size size, Size extra)
{
	Size		room = PageGetFreeSpace(level->page);
	Size		last_extra = level->last_extra;

	/* a high key may be larger than its tuple by a place (TID) */
	level->last_extra = extra;
	if (unlikely(room < size + (level->number == 0
								? MAXALIGN(sizeof(ItemPointerData)) : 0) ||
				 (room + last_extra < level->full && level->last > P_FIRSTKEY)))
		finish_page(writer, level);

	/* the low key of a level's first page is less than all keys */
	if (unlikely(level->last == P_HIKEY))
	{
		level->low_key = palloc0(sizeof(IndexTupleData));
		level->low_key->t_info = sizeof(IndexTupleData);
		BTreeTupleSetNAtts(level->low_key, 0, false);
	}
}

/* Add a tuple to a level.  "extra" is the same as for make_room(). */
static void
add_tuple(TreeWriter *writer, Level *level, IndexTuple tuple, Size extra)
{
	Size		size = MAXALIGN(IndexTupleSize(tuple));

	make_room(writer, level, size, extra);
	level->last++;
	copy_item(writer, level, level->page, level->last, tuple, size);
}

/* ----------
 * Entries
 * ----------
 */

/* Form the tuple of an entry without texts on a page.  Its size is known. */
static void
add_one(TreeWriter *writer, const uint64 *entry, Size size)
{
	Level	   *level = writer->leaf;

	make_room(writer, level, size, 0);
	level->last++;
	index_key_form(writer->key, entry,
				   new_item(writer, level->page, level->last, size));
}

/* Begin to collect entries with the same key. */
static void
begin_pending(TreeWriter *writer, const uint64 *entry)
{
	memcpy(writer->pending, entry,
		   index_entry_words(writer->key, entry) * sizeof(uint64));
	if (writer->key->has_text)
		writer->pending_size = index_key_form(writer->key, entry,
											  &writer->tuple.tuple);
	else
		writer->pending_size = index_key_size(writer->key, entry);
}

/* Add the collected entries: one tuple, with a posting list if necessary. */
static void
add_pending(TreeWriter *writer)
{
	if (writer->n_places == 1 && writer->key->has_text)
		add_tuple(writer, writer->leaf, &writer->tuple.tuple, 0);
	else if (writer->n_places == 1)
		add_one(writer, writer->pending, writer->pending_size);
	else if (writer->n_places > 1)
	{
		IndexTuple	tuple;

		if (!writer->key->has_text)
			index_key_form(writer->key, writer->pending,
						   &writer->tuple.tuple);
		tuple = _bt_form_posting(&writer->tuple.tuple, writer->places,
								 writer->n_places);
		add_tuple(writer, writer->leaf, tuple,
				  IndexTupleSize(tuple) - BTreeTupleGetPostingOffset(tuple));
		pfree(tuple);
	}
	writer->n_places = 0;
}

/*
 * Is there room in the tuple for one more place?  The limit is that of
 * _bt_dedup_save_htid().
 */
static bool
pending_has_room(const TreeWriter *writer)
{
	Size		places = (writer->n_places + 1) * sizeof(ItemPointerData);

	return MAXALIGN(writer->pending_size + places) <= writer->max_posting;
}

/*
 * Raise the error for a duplicate key, with the messages of
 * comparetup_index_btree() (tuplesort.c in 15, then tuplesortvariants.c).
 */
static pg_noinline void
duplicate_key(TreeWriter *writer, const uint64 *entry)
{
	TupleSpace	tuple;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	char	   *description;

	index_key_form(writer->key, entry, &tuple.tuple);
	index_deform_tuple(&tuple.tuple, RelationGetDescr(writer->index), values,
					   isnull);
	description = BuildIndexValueDescription(writer->index, values, isnull);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("could not create unique index \"%s\"",
					RelationGetRelationName(writer->index)),
			 description ? errdetail("Key %s is duplicated.", description) :
			 errdetail("Duplicate keys exist."),
			 errtableconstraint(writer->heap,
								RelationGetRelationName(writer->index))));
}

/* Count a key that differs from the last one, and compare some of them. */
static inline void
count_key(TreeWriter *writer, const uint64 *entry)
{
	TupleSpace	left;
	TupleSpace	right;

	writer->n_keys++;
	if (likely(writer->n_keys > FIRST_COMPARED &&
			   writer->n_keys % COMPARED_OF != 0))
		return;
	index_key_form(writer->key, writer->last, &left.tuple);
	index_key_form(writer->key, entry, &right.tuple);
	check_order(writer, &left.tuple, &right.tuple);
}

void
tree_writer_add(TreeWriter *writer, const uint64 *entry)
{
	const IndexKey *key = writer->key;
	bool		same_key = false;

	if (writer->n_added > 0)
	{
		if (unlikely(!index_entry_less(key, writer->last, entry)))
			wrong_index(writer, "its keys are not in order");
		same_key = index_key_same(key, writer->last, entry);
		if (!same_key)
			count_key(writer, entry);
	}
	else
		writer->leaf = new_level(writer, 0);
	if (same_key && writer->unique &&
		(writer->nulls_equal || index_key_nulls(key, entry) == 0))
		duplicate_key(writer, entry);
	memcpy(writer->last, entry, index_entry_words(key, entry) * sizeof(uint64));
	writer->n_added++;

	if (!writer->merges)
	{
		if (key->has_text)
		{
			index_key_form(key, entry, &writer->tuple.tuple);
			add_tuple(writer, writer->leaf, &writer->tuple.tuple, 0);
		}
		else
			add_one(writer, entry, index_key_size(key, entry));
		return;
	}
	if (!same_key || !index_key_same_bytes(key, writer->pending, entry) ||
		!pending_has_room(writer))
	{
		add_pending(writer);
		begin_pending(writer, entry);
	}
	index_key_place(key, entry, &writer->places[writer->n_places++]);
}

TreeWriter *
tree_writer_new(Relation heap, Relation index, const IndexInfo *info,
				const IndexKey *key)
{
	TreeWriter *writer = palloc0(sizeof(TreeWriter));

	writer->heap = heap;
	writer->index = index;
	writer->key = key;
	writer->unique = info->ii_Unique;
	writer->nulls_equal = info->ii_NullsNotDistinct;

	/* deduplication and the size of posting lists are those of _bt_load() */
	writer->scan_key = _bt_mkscankey(index, NULL);
	writer->scan_key->allequalimage = _bt_allequalimage(index, true);
	writer->merges = writer->scan_key->allequalimage && !writer->unique &&
		BTGetDeduplicateItems(index);
	writer->max_posting = MAXALIGN_DOWN(BLCKSZ * 10 / 100) -
		sizeof(ItemIdData);
	writer->pending = palloc(key->max_words * sizeof(uint64));
	writer->last = palloc(key->max_words * sizeof(uint64));
	writer->places = palloc(writer->max_posting + sizeof(ItemPointerData));
	writer->n_blocks = BTREE_METAPAGE + 1;
	writer->pages = page_writer_new(index);
	return writer;
}

/*
 * Finish the last page of each level.  As the rightmost page of a level, it
 * has no high key, so its items are moved to the offsets before theirs.
 * Returns the highest level, which contains the root.
 */
static Level *
finish_levels(TreeWriter *writer)
{
	Level	   *top = NULL;

	for (Level *level = writer->leaf; level != NULL; level = level->up)
	{
		Page		page = level->page;
		OffsetNumber max_offset;

		if (level->up == NULL)
			BTPageGetOpaque(page)->btpo_flags |= BTP_ROOT;
		else
		{
			BTreeTupleSetDownLink(level->low_key, level->block);
			add_tuple(writer, level->up, level->low_key, 0);
			pfree(level->low_key);
			level->low_key = NULL;
		}
		max_offset = PageGetMaxOffsetNumber(page);
		for (OffsetNumber offset = P_FIRSTKEY; offset <= max_offset; offset++)
			*PageGetItemId(page, offset - 1) = *PageGetItemId(page, offset);
		((PageHeader) page)->pd_lower -= sizeof(ItemIdData);
		if (level->number == 0)
			sum_leaf(writer, page, P_HIKEY);
		page_writer_write(writer->pages, level->block, page);
		level->page = NULL;
		top = level;
	}
	return top;
}

void
tree_writer_finish(TreeWriter *writer, const HeapEntries *read)
{
	Level	   *top;
	Page		metapage;

	add_pending(writer);
	top = finish_levels(writer);
	if (writer->n_stored != read->n || writer->n_added != read->n)
		wrong_index(writer, "the numbers of its entries and of the table's rows differ");
	if (writer->sum_stored != read->sum)
		wrong_index(writer, "its entries are not those of the table's rows");

	/* the metapage is written last, as it makes the tree accessible */
	metapage = page_writer_page(writer->pages);
	_bt_initmetapage(metapage, top != NULL ? top->block : P_NONE,
					 top != NULL ? top->number : 0,
					 writer->scan_key->allequalimage);
	page_writer_write(writer->pages, BTREE_METAPAGE, metapage);
	page_writer_finish(writer->pages);
}

#endif							/* PARDUMP_FAST_INDEX */

/*-------------------------------------------------------------------------
 *
 * toast_reader.c
 *	  Fetches out-of-line values with a ring of buffers, and decompresses
 *	  values.
 *
 * chunk_reader.c and fingerprint.c call this for the values of the tuples
 * that they read.  The server's own function (heaptoast.c:
 * heap_fetch_toast_slice) opens the TOAST table and begins an index scan for
 * each value, and its pages displace others in shared buffers.  Here the
 * table, its index and the scan remain open for the whole read.  The index
 * returns the places of a value's chunks (called pieces here), which are
 * usually next to each other on one page.  This page is read with a ring of
 * buffers and stays pinned as long as the next piece is on it.
 *
 * A value is assembled in a buffer that the next value overwrites.  Most
 * values have similar sizes, and palloc() of a large value takes a system
 * call, and a page fault for each of its memory pages.
 *
 * The contents of TOAST pointers and pieces are checked: a pointer must name
 * the TOAST table of the relation, and each piece must have the number and
 * the size that follow from the pointer.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/toast_compression.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"

#include "bytes/pglz.h"
#include "read/heap_reader.h"
#include "read/toast_reader.h"

/*
 * The columns of a TOAST table: ID of the value, number of the piece, and its
 * bytes.
 */
#define TOAST_COLUMNS 3

/* The buffer of a longer value is not kept for the next one. */
#define KEEP_BYTES ((Size) 16 * 1024 * 1024)

/* A buffer for one value after another, which is enlarged if necessary. */
typedef struct ValueBuffer
{
	struct varlena *value;
	Size		size;
} ValueBuffer;

struct ToastReader
{
	Relation	rel;			/* borrowed */
	MemoryContext context;		/* for buffers, and for open_toast_table() */
	ValueBuffer stored;			/* a fetched value, perhaps compressed */
	ValueBuffer plain;			/* a decompressed value */

	/* set by open_toast_table(), for the first out-of-line value */
	Relation	toast_rel;		/* NULL if not open */
	TupleDeformer *deformer;
	Relation   *indexes;
	int			n_indexes;
	IndexScanDesc scan;
	SnapshotData snapshot_space;
	Snapshot	snapshot;
	BufferAccessStrategy ring;
	Buffer		buffer;			/* the page of the last piece, pinned */
};

/* A value that is being assembled. */
typedef struct ToastFetch
{
	Oid			value_id;
	int32		total;			/* bytes */
	int32		n_pieces;
	int32		next_piece;
	char	   *data;			/* room for "total" bytes */
} ToastFetch;

ToastReader *
toast_reader_new(Relation rel)
{
	ToastReader *reader = palloc0(sizeof(ToastReader));

	reader->rel = rel;
	reader->context = CurrentMemoryContext;
	reader->buffer = InvalidBuffer;
	return reader;
}

/* Make room for a value of "size" bytes, including its header. */
static struct varlena *
value_buffer_reserve(ToastReader *reader, ValueBuffer *buf, Size size)
{
	/* a buffer may be larger than the largest value by PGLZ_SLACK */
	if (size > MaxAllocSize + PGLZ_SLACK)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_internal("invalid length of a value in table \"%s\"",
								 RelationGetRelationName(reader->rel))));
	if (buf->size < size || buf->size > Max(size, KEEP_BYTES))
	{
		if (buf->value)
			pfree(buf->value);
		buf->value = NULL;
		buf->size = Max(size, 8192);
		buf->value = MemoryContextAllocHuge(reader->context, buf->size);
	}
	return buf->value;
}

/* ----------
 * Out-of-line values
 * ----------
 */

/*
 * Open the TOAST table and its valid index, and begin a scan, which is
 * restarted for each value.
 *
 * All of these remain open up to the end of the read, and are allocated in
 * the reader's context.  The locks are those that the server's own function
 * takes.  While REINDEX CONCURRENTLY builds a new index, there are two
 * indexes, and toast_open_indexes() returns which of them is valid.
 *
 * The snapshot is not that of the read, but SnapshotToast, which sees each
 * piece that still exists.  Pieces are never updated, and VACUUM keeps those
 * of a row as long as a registered snapshot sees the row
 * (heapam_visibility.c: HeapTupleSatisfiesToast()).
 */
static void
open_toast_table(ToastReader *reader)
{
	MemoryContext old_context = MemoryContextSwitchTo(reader->context);
	int			valid;

	reader->toast_rel = table_open(reader->rel->rd_rel->reltoastrelid,
								   AccessShareLock);
	reader->deformer = tuple_deformer_new(RelationGetDescr(reader->toast_rel),
										  TOAST_COLUMNS);
	valid = toast_open_indexes(reader->toast_rel, AccessShareLock,
							   &reader->indexes, &reader->n_indexes);

	/*
	 * A REINDEX in this session may have created the index's file in a
	 * subtransaction that is still open, whose rollback would remove the
	 * file.  After the scan has begun, REINDEX refuses the index
	 * (CheckTableNotInUse()).
	 */
	heap_check_lasts(reader->indexes[valid]);
	reader->snapshot = toast_snapshot(&reader->snapshot_space);
	reader->scan = begin_index_scan(reader->toast_rel, reader->indexes[valid],
									reader->snapshot, 1);
	reader->ring = GetAccessStrategy(BAS_BULKREAD);
	MemoryContextSwitchTo(old_context);
}

/*
 * Check the next piece of a value and copy its bytes.  Pieces are never
 * compressed, but may have a short header.
 */
static void
take_piece(ToastReader *reader, ToastFetch *fetch, HeapTuple tuple)
{
	const Datum *values = reader->deformer->values;
	const bool *isnull = reader->deformer->isnull;
	Size		offset = (Size) fetch->next_piece * TOAST_MAX_CHUNK_SIZE;
	struct varlena *piece;
	Size		expected;
	int32		no;

	if (!tuple_deform(reader->deformer, tuple) ||
		isnull[0] || isnull[1] || isnull[2] ||
		DatumGetObjectId(values[0]) != fetch->value_id)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid chunk of toast value %u in %s",
						fetch->value_id,
						RelationGetRelationName(reader->toast_rel))));
	no = DatumGetInt32(values[1]);
	piece = (struct varlena *) DatumGetPointer(values[2]);
	if (no != fetch->next_piece || no >= fetch->n_pieces)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_internal("unexpected chunk number %d (expected %d) for toast value %u in %s",
								 no, fetch->next_piece, fetch->value_id,
								 RelationGetRelationName(reader->toast_rel))));
	expected = Min(fetch->total - offset, TOAST_MAX_CHUNK_SIZE);
	if (VARATT_IS_EXTERNAL(piece) || VARATT_IS_COMPRESSED(piece) ||
		VARSIZE_ANY_EXHDR(piece) != expected)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_internal("unexpected chunk size in chunk %d of %d for toast value %u in %s",
								 no, fetch->n_pieces, fetch->value_id,
								 RelationGetRelationName(reader->toast_rel))));
	memcpy(fetch->data + offset, VARDATA_ANY(piece), expected);
	fetch->next_piece++;
}

/* Read the page of a piece, and copy the piece if it is visible. */
static void
take_piece_at(ToastReader *reader, ToastFetch *fetch, ItemPointer tid)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(tid);
	HeapTupleData tuple;
	Page		page;
	ItemId		item;
	bool		visible = false;

	/*
	 * Usually this is the page of the last piece, which is still pinned.  It
	 * stays pinned even between two calls of the SQL function, as the pin
	 * belongs to the resource owner of the portal.
	 */
	if (!BufferIsValid(reader->buffer) ||
		BufferGetBlockNumber(reader->buffer) != block)
	{
		if (BufferIsValid(reader->buffer))
			ReleaseBuffer(reader->buffer);
		reader->buffer = ReadBufferExtended(reader->toast_rel, MAIN_FORKNUM,
											block, RBM_NORMAL, reader->ring);
		page_prefetch_tuples(BufferGetPage(reader->buffer));
	}

	LockBuffer(reader->buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(reader->buffer);
	/* an index entry may still point to a tuple that was removed */
	if (offset >= FirstOffsetNumber &&
		offset <= Min(PageGetMaxOffsetNumber(page), MaxHeapTuplesPerPage) &&
		ItemIdIsNormal(item = PageGetItemId(page, offset)) &&
		heap_item_is_sound(item))
	{
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		tuple.t_tableOid = RelationGetRelid(reader->toast_rel);
		tuple.t_self = *tid;

		/* no index entry points to a heap-only tuple */
		visible = !HeapTupleIsHeapOnly(&tuple) &&
			HeapTupleSatisfiesVisibility(&tuple, reader->snapshot,
										 reader->buffer);
	}
	LockBuffer(reader->buffer, BUFFER_LOCK_UNLOCK);
	/* the pin prevents that the tuple is moved, see heap_reader.c */
	if (visible)
		take_piece(reader, fetch, &tuple);
}

static void
invalid_pointer(ToastReader *reader)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid TOAST pointer in table \"%s\"",
					RelationGetRelationName(reader->rel))));
}

/*
 * Read a TOAST pointer.  It must point to the TOAST table of this relation;
 * any other pointer is an error.
 */
static void
read_pointer(ToastReader *reader, const struct varlena *stored,
			 struct varatt_external *pointer)
{
	/* other kinds of pointers are never stored */
	if (!VARATT_IS_EXTERNAL_ONDISK(stored))
		invalid_pointer(reader);
	VARATT_EXTERNAL_GET_POINTER(*pointer, stored);

	/*
	 * After a command has rewritten the table, its pointers name the TOAST
	 * table that the table has then: the command either swaps the links to
	 * the TOAST tables, or swaps their files and writes the old OID into
	 * pointers (cluster.c: swap_relation_files(), rd_toastoid).
	 */
	if (pointer->va_toastrelid != reader->rel->rd_rel->reltoastrelid ||
		!OidIsValid(pointer->va_toastrelid))
		invalid_pointer(reader);
	if (VARATT_EXTERNAL_IS_COMPRESSED(*pointer) &&
		VARATT_EXTERNAL_GET_EXTSIZE(*pointer) < VARHDRSZ_COMPRESSED - VARHDRSZ)
		invalid_pointer(reader);
}

/* Return the size of the value after it is fetched, including its header. */
static inline Size
pointer_stored_size(const struct varatt_external *pointer)
{
	return (Size) VARATT_EXTERNAL_GET_EXTSIZE(*pointer) + VARHDRSZ;
}

/* Fetch the value as it is stored, with a header for its form. */
static void
fetch_stored(ToastReader *reader, const struct varatt_external *pointer,
			 struct varlena *result)
{
	Size		stored_bytes = VARATT_EXTERNAL_GET_EXTSIZE(*pointer);
	ToastFetch	fetch;
	ScanKeyData key;
	ItemPointer tid;

	if (reader->toast_rel == NULL)
		open_toast_table(reader);
	if (VARATT_EXTERNAL_IS_COMPRESSED(*pointer))
		SET_VARSIZE_COMPRESSED(result, stored_bytes + VARHDRSZ);
	else
		SET_VARSIZE(result, stored_bytes + VARHDRSZ);

	fetch.value_id = pointer->va_valueid;
	fetch.total = (int32) stored_bytes;
	fetch.n_pieces = (fetch.total + TOAST_MAX_CHUNK_SIZE - 1) /
		TOAST_MAX_CHUNK_SIZE;
	fetch.next_piece = 0;
	fetch.data = VARDATA(result);

	/*
	 * The columns of the index are value and piece, so it returns the pieces
	 * in their order.  It may also return places of removed tuples, which
	 * take_piece_at() skips.
	 */
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(pointer->va_valueid));
	index_rescan(reader->scan, &key, 1, NULL, 0);
	while ((tid = index_getnext_tid(reader->scan, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS(); /* a value may have a gigabyte */
		take_piece_at(reader, &fetch, tid);
	}
	if (fetch.next_piece != fetch.n_pieces)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_internal("missing chunk number %d for toast value %u in %s",
								 fetch.next_piece, fetch.value_id,
								 RelationGetRelationName(reader->toast_rel))));
}

Size
toast_reader_stored_size(ToastReader *reader, const struct varlena *stored)
{
	struct varatt_external pointer;

	read_pointer(reader, stored, &pointer);
	return pointer_stored_size(&pointer);
}

void
toast_reader_fetch(ToastReader *reader, const struct varlena *stored,
				   struct varlena *to)
{
	struct varatt_external pointer;

	read_pointer(reader, stored, &pointer);
	fetch_stored(reader, &pointer, to);
}

struct varlena *
toast_reader_get_stored(ToastReader *reader, const struct varlena *stored)
{
	struct varatt_external pointer;
	struct varlena *fetched;

	read_pointer(reader, stored, &pointer);
	fetched = value_buffer_reserve(reader, &reader->stored,
								   pointer_stored_size(&pointer));
	fetch_stored(reader, &pointer, fetched);
	return fetched;
}

/* ----------
 * Compressed values
 * ----------
 */

struct varlena *
toast_reader_decompress(ToastReader *reader, struct varlena *compressed)
{
	Size		raw_bytes = VARDATA_COMPRESSED_GET_EXTSIZE(compressed);

	if (VARDATA_COMPRESSED_GET_COMPRESS_METHOD(compressed) ==
		TOAST_PGLZ_COMPRESSION_ID)
	{
		struct varlena *result = value_buffer_reserve(reader, &reader->plain,
													  raw_bytes + VARHDRSZ +
													  PGLZ_SLACK);

		if (pglz_decode((const char *) compressed + VARHDRSZ_COMPRESSED,
						VARSIZE(compressed) - VARHDRSZ_COMPRESSED,
						VARDATA(result), raw_bytes))
		{
			SET_VARSIZE(result, raw_bytes + VARHDRSZ);
			return result;
		}
	}

	/*
	 * For damaged data, the server raises the error.  It also decompresses
	 * lz4 if it was built with it.
	 */
	return detoast_attr(compressed);
}

void
toast_reader_free(ToastReader *reader)
{
	/*
	 * The locks, like that of the table, are kept up to the end of the
	 * transaction, so that the table is not rewritten before.
	 */
	if (reader->toast_rel)
	{
		if (BufferIsValid(reader->buffer))
			ReleaseBuffer(reader->buffer);
		index_endscan(reader->scan);
		toast_close_indexes(reader->indexes, reader->n_indexes, NoLock);
		table_close(reader->toast_rel, NoLock);
	}
}

/*-------------------------------------------------------------------------
 *
 * raw_loader.c
 *	  Inserts blocks of raw tuples into a table.
 *
 * function/load_function.c calls this for each block.  The first part of the
 * file splits a block into rows, and checks everything that the server would
 * trust: lengths, pointers and flags.  The second part stores out-of-line
 * values out of line again, without decompressing them.  The third part
 * checks constraints and passes the tuples to tuple_batch.c.
 *
 * A block comes from a superuser, who could write anything into a table
 * anyway.  The checks are made because a block may have been damaged on its
 * way, or be the wrong one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/toast_compression.h"
#include "utils/memutils.h"

#include "bytes/varlena.h"
#include "load/load_check.h"
#include "load/raw_loader.h"
#include "load/toast_values.h"
#include "load/tuple_batch.h"
#include "read/heap_reader.h"

/* ----------
 * Splits blocks of raw tuples into rows, and checks their lengths.
 *
 * A row that passes these checks can be deformed and detoasted without access
 * to memory outside of the tuple and the block, or to any table.  The
 * functions of the types trust the contents of values, as they always do.
 * ----------
 */

struct RawRows
{
	TupleDesc	tupdesc;		/* borrowed */
	TupleDeformer *deformer;
	int			n_varlena;
	int		   *varlena;		/* indexes of attributes of varying length */
	int			n_names;
	int		   *names;			/* indexes of attributes of type name */

	const char *start;			/* of the frames */
	const char *place;
	const char *end;
	uint32		n_rows;
	uint32		number;			/* of the current row */

	RawRow		row;
};

/*
 * Attributes whose values must be checked are listed here once, so that rows
 * of fixed-length columns need no loop.  "name" is the only portable type of
 * NAMEDATALEN bytes.
 */
RawRows *
raw_rows_new(TupleDesc tupdesc, const RawBlock *block)
{
	RawRows    *rows = palloc0(sizeof(RawRows));
	int			natts = tupdesc->natts;

	rows->tupdesc = tupdesc;
	rows->deformer = tuple_deformer_new(tupdesc, natts);
	rows->varlena = palloc(sizeof(int) * (natts + 1));
	rows->names = palloc(sizeof(int) * (natts + 1));
	for (int i = 0; i < natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		if (att->attlen == -1)
			rows->varlena[rows->n_varlena++] = i;
		else if (att->attlen == NAMEDATALEN)
			rows->names[rows->n_names++] = i;
	}
	rows->start = rows->place = block->frames;
	rows->end = block->frames + block->frame_bytes;
	rows->n_rows = block->n_rows;
	rows->row.values = rows->deformer->values;
	rows->row.isnull = rows->deformer->isnull;
	rows->row.external = palloc(sizeof(int) * (natts + 1));
	return rows;
}

static pg_noinline void
invalid_row(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid raw tuple"),
			 errdetail("%s", detail)));
}

/* ----------
 * The tuple
 * ----------
 */

/* Read the flags and the length of the next frame. */
static uint32
next_word(RawRows *rows)
{
	uint32		word;

	if (rows->end - rows->place < sizeof(word))
		invalid_row("The block ends before the row.");
	memcpy(&word, rows->place, sizeof(word));
	rows->place += sizeof(word);
	if ((word & RAW_TUPLE_BYTES) > rows->end - rows->place)
		invalid_row("The row is longer than the block.");
	return word;
}

/* Make a tuple of the bytes of a frame, whose first word has been read. */
static HeapTuple
take_tuple(RawRows *rows, uint32 word)
{
	bool		has_nulls = (word & RAW_HAS_NULLS) != 0;
	Size		bytes = word & RAW_TUPLE_BYTES;
	Size		start = raw_tuple_start(has_nulls);
	Size		hoff = SizeofHeapTupleHeader;
	HeapTuple	tuple;
	HeapTupleHeader header;

	if (has_nulls)
		hoff += BITMAPLEN(rows->tupdesc->natts);
	hoff = MAXALIGN(hoff);
	if (start + bytes < hoff)
		invalid_row("The tuple is shorter than its null bitmap.");

	/*
	 * A frame contains neither the fixed part of the header nor, without
	 * NULLs, the padding after it.  Both are set to zero here; the insertion
	 * fills in the transaction and the place.
	 */
	tuple = palloc(HEAPTUPLESIZE + start + bytes);
	header = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);
	memset(header, 0, start);
	memcpy((char *) header + start, rows->place, bytes);
	rows->place += bytes;
	HeapTupleHeaderSetNatts(header, rows->tupdesc->natts);
	header->t_infomask = (has_nulls ? HEAP_HASNULL : 0) |
		(word & RAW_HAS_VARWIDTH ? HEAP_HASVARWIDTH : 0) |
		(word & RAW_HAS_EXTERNAL ? HEAP_HASEXTERNAL : 0);
	header->t_hoff = hoff;
	ItemPointerSetInvalid(&header->t_ctid);

	tuple->t_data = header;
	tuple->t_len = start + bytes;
	ItemPointerSetInvalid(&tuple->t_self);
	tuple->t_tableOid = InvalidOid;
	return tuple;
}

/* ----------
 * The values of a tuple
 * ----------
 */

/*
 * Check that a compressed value is one that toast_compress_datum() could have
 * made: its method is known and supported, and it is shorter than its plain
 * form.  A TOAST pointer recognizes a compressed value by that difference.
 */
static void
check_compressed(const struct varlena *value)
{
	Size		stored = VARSIZE(value) - VARHDRSZ;
	Size		plain = VARDATA_COMPRESSED_GET_EXTSIZE(value);

	switch (VARDATA_COMPRESSED_GET_COMPRESS_METHOD(value))
	{
		case TOAST_PGLZ_COMPRESSION_ID:
			break;
#ifdef USE_LZ4
		case TOAST_LZ4_COMPRESSION_ID:
			break;
#endif
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("compression method of a raw tuple's value is not supported by this server")));
	}
	if (plain <= stored || plain + VARHDRSZ > MaxAllocSize)
		invalid_row("A compressed value has an impossible length.");
}

/*
 * Return the out-of-line value of a pointer, which must be blank.  The value
 * follows in the frame, and must be within the block.
 */
static struct varlena *
take_external(RawRows *rows, const struct varlena *pointer)
{
	static const struct varatt_external blank;
	Size		offset = MAXALIGN(rows->place - rows->start);
	const char *value = rows->start + offset;
	Size		size;

	if (memcmp(VARDATA_EXTERNAL(pointer), &blank, sizeof(blank)) != 0)
		invalid_row("A value points out of the block.");
	if (offset >= rows->end - rows->start || VARATT_IS_1B(value))
		invalid_row("An out-of-line value is missing.");
	size = stored_varlena_size(value, rows->end);
	if (size == 0)
		invalid_row("An out-of-line value is longer than the block.");
	rows->place = value + size;
	return (struct varlena *) value;
}

/* Check the values of varying length, and fetch out-of-line ones. */
static void
check_varlena(RawRows *rows, bool may_be_external)
{
	RawRow	   *row = &rows->row;

	row->n_external = 0;
	for (int i = 0; i < rows->n_varlena; i++)
	{
		int			att = rows->varlena[i];
		struct varlena *value = (struct varlena *) DatumGetPointer(row->values[att]);

		if (row->isnull[att])
			continue;
		if (unlikely(VARATT_IS_EXTERNAL(value)))
		{
			if (!may_be_external)
				invalid_row("The tuple has an out-of-line value, but the flag for such values is not set.");
			value = take_external(rows, value);
			row->values[att] = PointerGetDatum(value);
			row->external[row->n_external++] = att;
		}
		if (unlikely(VARATT_IS_COMPRESSED(value)))
			check_compressed(value);
	}
	if (may_be_external && row->n_external == 0)
		invalid_row("The flag for out-of-line values is set, but the tuple has none.");
}

/* Does the row have a value of varying length? */
static bool
has_varlena(const RawRows *rows)
{
	for (int i = 0; i < rows->n_varlena; i++)
	{
		if (!rows->row.isnull[rows->varlena[i]])
			return true;
	}
	return false;
}

/* Check that all names end with a zero, as functions read them up to it. */
static void
check_names(const RawRows *rows)
{
	for (int i = 0; i < rows->n_names; i++)
	{
		int			att = rows->names[i];

		if (!rows->row.isnull[att] &&
			memchr(DatumGetPointer(rows->row.values[att]), '\0', NAMEDATALEN) == NULL)
			invalid_row("A name has no end.");
	}
}

const RawRow *
raw_rows_next(RawRows *rows)
{
	uint32		word;
	HeapTuple	tuple;

	if (rows->number == rows->n_rows)
	{
		if (rows->place != rows->end)
			invalid_row("The block continues after the last row.");
		return NULL;
	}
	rows->number++;
	word = next_word(rows);
	rows->row.tuple = tuple = take_tuple(rows, word);
	/* the last value must end at the end of the tuple */
	if (tuple_deform(rows->deformer, tuple) != tuple->t_len)
		invalid_row("The values do not end at the end of the tuple.");
	check_varlena(rows, (word & RAW_HAS_EXTERNAL) != 0);
	check_names(rows);
	/* without the flag the server would assume that all widths are fixed */
	if ((word & RAW_HAS_VARWIDTH) == 0 && has_varlena(rows))
		invalid_row("The tuple has variable-width values, but the flag for such values is not set.");
	return &rows->row;
}

/* ----------
 * Inserts blocks of raw tuples into a table.
 * ----------
 */

/* The load of one block.  All of its memory ends with the statement. */
typedef struct RawLoader
{
	Relation	rel;			/* borrowed */
	EState	   *estate;
	ResultRelInfo *target;
	TupleTableSlot *slot;		/* the row for constraints */
	bool		has_not_null;	/* the table has NOT NULL constraints */
	bool		has_others;		/* it has other constraints */
	RawRows    *rows;
	TupleBatch *batch;
} RawLoader;

const char *
raw_loader_reason(Relation rel)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	const char *reason = load_check_kind(rel);

	if (reason == NULL)
		reason = load_check_constraints(rel);
	for (int i = 0; i < tupdesc->natts && reason == NULL; i++)
	{
		if (TupleDescAttr(tupdesc, i)->attisdropped)
			reason = "it has dropped columns";
	}
	return reason != NULL ? reason : raw_columns_reason(tupdesc);
}

/* Raise an error if the row violates a constraint of the table. */
static void
check_constraints(RawLoader *loader, const RawRow *row)
{
	TupleTableSlot *slot = loader->slot;
	int			natts = RelationGetNumberOfAttributes(loader->rel);

	ResetPerTupleExprContext(loader->estate);
	ExecClearTuple(slot);

	/* out-of-line values point into the block here: plain or compressed */
	memcpy(slot->tts_values, row->values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->isnull, natts * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(loader->rel);
	if (RelationGetDescr(loader->rel)->constr != NULL)
		ExecConstraints(loader->target, slot, loader->estate);
	if (loader->rel->rd_rel->relispartition)
		ExecPartitionCheck(loader->target, slot, loader->estate, true);
}

/*
 * Return the tuple to insert: that of the row, or one with objects that store
 * its external values out of line.  These values are neither compressed nor
 * decompressed, and the other values of the row remain unchanged if the row
 * is short enough then.  An external value becomes part of the tuple if the
 * storage of its attribute is PLAIN, or if the table has no TOAST table.
 *
 * Until the tuple has been inserted, neither it nor the block may be freed.
 * It is allocated in CurrentMemoryContext, which must not be reset.
 */
static HeapTuple
tuple_of_batch(RawLoader *loader, const RawRow *row)
{
	Relation	rel = loader->rel;
	TupleDesc	tupdesc = RelationGetDescr(rel);
	Datum	   *stored;

	if (row->n_external == 0)
		return row->tuple;
	stored = palloc(tupdesc->natts * sizeof(Datum));
	memcpy(stored, row->values, tupdesc->natts * sizeof(Datum));
	for (int i = 0; i < row->n_external; i++)
	{
		int			att = row->external[i];
		struct varlena *value = (struct varlena *) DatumGetPointer(stored[att]);

		/* the server itself neither compresses nor moves PLAIN values */
		if (TupleDescAttr(tupdesc, att)->attstorage == TYPSTORAGE_PLAIN)
			stored[att] = PointerGetDatum(detoast_attr(value));
		else if (OidIsValid(rel->rd_rel->reltoastrelid))
			stored[att] = toast_value_later(rel, value,
											tuple_batch_options(loader->batch));
	}
	return heap_form_tuple(tupdesc, stored, row->isnull);
}

/* Return the tuple for index entries of a row that is to be inserted. */
static HeapTuple
indexed_tuple(RawLoader *loader, const RawRow *row, HeapTuple tuple)
{
	if (row->n_external == 0 || loader->target->ri_NumIndices == 0)
		return tuple;
	return heap_form_tuple(RelationGetDescr(loader->rel), row->values,
						   row->isnull);
}

/* Read, check and insert all rows.  Returns their number. */
static uint64
load_rows(RawLoader *loader)
{
	MemoryContext old_context = MemoryContextSwitchTo(tuple_batch_context(loader->batch));
	const RawRow *row;
	HeapTuple	tuple;
	uint64		n_rows = 0;

	while ((row = raw_rows_next(loader->rows)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		/* without NULLs, a row cannot violate NOT NULL constraints */
		if (loader->has_others ||
			(loader->has_not_null && HeapTupleHasNulls(row->tuple)))
			check_constraints(loader, row);
		tuple = tuple_of_batch(loader, row);
		tuple_batch_add_tuple(loader->batch, tuple,
							  indexed_tuple(loader, row, tuple),
							  row->tuple->t_len);
		n_rows++;
	}
	MemoryContextSwitchTo(old_context);
	return n_rows;
}

/* Add the table and the row to the context of errors. */
static void
add_place(void *arg)
{
	RawLoader  *loader = arg;

	errcontext("raw tuples of table \"%s\", up to row %u of a block",
			   RelationGetRelationName(loader->rel), loader->rows->number);
}

/* Set up the executor state, the reader of rows and the batch of a load. */
static void
begin_load(RawLoader *loader, Relation rel, const RawBlock *block)
{
	const TupleConstr *constr = RelationGetDescr(rel)->constr;

	loader->rel = rel;
	/* memory allocated from here on is freed with the executor state */
	loader->estate = CreateExecutorState();
	MemoryContextSwitchTo(loader->estate->es_query_cxt);
	loader->target = new_result_rel_info();
	InitResultRelInfo(loader->target, rel, 0, NULL, 0);
	ExecOpenIndices(loader->target, false);
	loader->slot = MakeSingleTupleTableSlot(RelationGetDescr(rel),
											&TTSOpsVirtual);
	loader->has_not_null = constr != NULL && constr->has_not_null;
	loader->has_others = rel->rd_rel->relispartition ||
		(constr != NULL && constr->num_check > 0);
	loader->rows = raw_rows_new(RelationGetDescr(rel), block);
	loader->batch = tuple_batch_new(NULL, loader->estate, loader->target);
}

/*
 * Rows are inserted with the command ID of the statement that calls the SQL
 * function.  tuple_batch_end() remembers pages that were added to the table
 * but not used, for the next block.
 */
void
raw_loader_insert(Relation rel, bytea *block, uint64 *n_rows, uint64 *n_bytes)
{
	MemoryContext old_context = CurrentMemoryContext;
	RawLoader	loader;
	RawBlock	raw;
	ErrorContextCallback place = {error_context_stack, add_place, &loader};

	raw_block_open(&raw, block, RelationGetDescr(rel));
	begin_load(&loader, rel, &raw);
	error_context_stack = &place;
	*n_rows = load_rows(&loader);
	tuple_batch_end(loader.batch);
	error_context_stack = place.previous;
	*n_bytes = raw.frame_bytes;

	MemoryContextSwitchTo(old_context);
	ExecDropSingleTupleTableSlot(loader.slot);
	ExecCloseIndices(loader.target);
	FreeExecutorState(loader.estate);
}

/*-------------------------------------------------------------------------
 *
 * raw_loader.c
 *	  Inserts blocks of raw tuples into a table.
 *
 * The first part takes a block apart into rows, and checks all that the
 * server would follow: lengths, pointers, flags.  The second part has values
 * that were out of line stored out of line again, as they come.  The third
 * part checks the constraints and gives the tuples to tuple_batch.c.
 *
 * A block is data of a superuser, who could write anything into a table
 * anyway.  The checks are for damage on the way, and against mistakes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/server_compat.h"
#include "bytes/varlena.h"
#include "load/load_check.h"
#include "load/raw_loader.h"
#include "load/tuple_batch.h"
#include "read/heap_reader.h"

/* ----------
 * Takes blocks of raw tuples apart without believing their lengths.
 *
 * A row that passes can be read by heap_deform_tuple() and detoasted, with no
 * access to any memory or table but the tuple's own.  Within values the
 * functions of their types trust what they find, as they always do.
 * ----------
 */

struct RawRows
{
	TupleDesc	tupdesc;		/* borrowed */
	TupleDeformer *deformer;
	int			n_varlena;
	int		   *varlena;		/* attributes of varying length, indexes */
	int			n_names;
	int		   *names;			/* those of type name */

	const char *start;			/* of the frames */
	const char *place;
	const char *end;
	uint32		n_rows;
	uint32		number;			/* of the current row */

	RawRow		row;
};

/*
 * Attributes whose values need a look of their own are listed once, so that a
 * row of fixed-length columns costs nothing.  The only type of NAMEDATALEN
 * bytes among the portable ones is name.
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

/* The flags and the length of the next frame. */
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

/* Make a tuple of the bytes of a frame that begins with this word. */
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
		invalid_row("It is shorter than its null bitmap.");

	/*
	 * A frame has neither the fixed part of the header nor, without nulls,
	 * the padding behind it.  Both are zero here; the transaction and the
	 * place are filled in when the tuple is inserted.
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
 * Its values
 * ----------
 */

/*
 * A compressed value is what the server's functions make: by a method that is
 * known and built in, and shorter than before (toast_compress_datum); a
 * TOAST pointer could not express otherwise that it is compressed.
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

/* A pointer must be blank, and the value be there that it stands for. */
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
		invalid_row("A value out of line is not there.");
	size = stored_varlena_size(value, rows->end);
	if (size == 0)
		invalid_row("A value out of line is longer than the block.");
	rows->place = value + size;
	return (struct varlena *) value;
}

/* Look at the values of varying length, and take those out of line. */
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
				invalid_row("A value is out of line in a row that has none.");
			value = take_external(rows, value);
			row->values[att] = PointerGetDatum(value);
			row->external[row->n_external++] = att;
		}
		if (unlikely(VARATT_IS_COMPRESSED(value)))
			check_compressed(value);
	}
	if (may_be_external && row->n_external == 0)
		invalid_row("No value is out of line in a row that has one.");
}

/* Does any attribute have a value of varying length? */
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

/* Names are read up to their end, which must be there. */
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
	/* the last value must end where the tuple does */
	if (tuple_deform(rows->deformer, tuple) != tuple->t_len)
		invalid_row("The lengths of its values are not that of the row.");
	check_varlena(rows, (word & RAW_HAS_EXTERNAL) != 0);
	check_names(rows);
	/* else the server would take all attributes for ones of fixed width */
	if ((word & RAW_HAS_VARWIDTH) == 0 && has_varlena(rows))
		invalid_row("It has values of varying width, and does not say so.");
	return &rows->row;
}

/* ----------
 * Puts values out of line as they come.
 *
 * The server's way with a long row (heaptoast.c: heap_toast_insert_or_update)
 * is to compress the largest values until it fits, and those that are
 * compressed already it passes over: all others would be compressed, down to
 * the shortest, before it puts one out of line.  What it finds out of line it
 * fetches back first (toast_helper.c: toast_tuple_init).  So the row that it
 * is given points to an expanded object (src/include/utils/expandeddatum.h),
 * which, fetched, stores its value and gives the pointer to it.  The server
 * finds the row short enough by that, and puts the pointer into the tuple.
 *
 * Fetched again, as the row's index entries do it, the object gives the
 * value.
 * ----------
 */

/* A value on its way. */
typedef struct ToastedValue
{
	ExpandedObjectHeader object;	/* must be first */
	Relation	rel;			/* borrowed */
	int			options;
	struct varlena *value;		/* borrowed; plain or compressed */
	bool		is_stored;
} ToastedValue;

static Size
flat_size(ExpandedObjectHeader * object)
{
	ToastedValue *toasted = (ToastedValue *) object;

	/* first what the table stores, later what index entries need */
	if (!toasted->is_stored)
		return TOAST_POINTER_SIZE;
	return toast_raw_datum_size(PointerGetDatum(toasted->value));
}

static void
flatten(ExpandedObjectHeader * object, void *result, Size size)
{
	ToastedValue *toasted = (ToastedValue *) object;
	struct varlena *flat;

	if (toasted->is_stored)
		flat = detoast_attr(toasted->value);
	else
		/* writes the pieces into the TOAST table, and returns the pointer */
		flat = (struct varlena *)
			DatumGetPointer(toast_save_datum(toasted->rel,
											 PointerGetDatum(toasted->value),
											 NULL, toasted->options));
	if (VARSIZE_ANY(flat) != size)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid length of a compressed value for table \"%s\"",
						RelationGetRelationName(toasted->rel)),
				 errdetail("The value has %zu bytes instead of %zu.",
						   (Size) VARSIZE_ANY(flat), size)));
	memcpy(result, flat, size);
	toasted->is_stored = true;
	if (flat != toasted->value)
		pfree(flat);
}

static const ExpandedObjectMethods methods = {flat_size, flatten};

/* A pointer, of memory alone, to the value on its way. */
static Datum
point_to(Relation rel, struct varlena *value, int options)
{
	ToastedValue *toasted = palloc(sizeof(ToastedValue));
	struct varatt_indirect redirect;
	struct varlena *pointer = palloc(INDIRECT_POINTER_SIZE);

	EOH_init_header(&toasted->object, &methods, CurrentMemoryContext);
	toasted->rel = rel;
	toasted->options = options;
	toasted->value = value;
	toasted->is_stored = false;

	/* heap_form_tuple() would fetch an expanded object itself */
	redirect.pointer = (struct varlena *) toasted->object.eoh_ro_ptr;
	SET_VARTAG_EXTERNAL(pointer, VARTAG_INDIRECT);
	memcpy(VARDATA_EXTERNAL(pointer), &redirect, sizeof(redirect));
	return PointerGetDatum(pointer);
}

/* ----------
 * Inserts blocks of raw tuples into a table.
 * ----------
 */

/* One block on its way.  All of it is the statement's. */
typedef struct RawLoader
{
	Relation	rel;			/* borrowed */
	EState	   *estate;
	ResultRelInfo *target;
	TupleTableSlot *slot;		/* the row for constraints */
	bool		has_not_null;	/* constraints */
	bool		has_others;		/* constraints, on values */
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

/* Raise an error if the row does not fit the table's constraints. */
static void
check_constraints(RawLoader *loader, const RawRow *row)
{
	TupleTableSlot *slot = loader->slot;
	int			natts = RelationGetNumberOfAttributes(loader->rel);

	ResetPerTupleExprContext(loader->estate);
	ExecClearTuple(slot);

	/*
	 * values out of line are seen as they were fetched: plain or compressed
	 */
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
 * The tuple to insert: the row's own, or one for table_multi_insert() to put
 * the row's external values out of line.  Of these, compressed ones stay
 * compressed, others are not tried, and the table's other values are left as
 * they are if they fit then.  An attribute whose storage is PLAIN, or all of
 * a table without TOAST table, is in line.
 *
 * The tuple is for one insertion, and after that to read values from, for
 * indexes.  It, and the values that are out of line, must not be freed
 * before; it is allocated in CurrentMemoryContext, which must not be reset.
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
			stored[att] = point_to(rel, value,
								   tuple_batch_options(loader->batch));
	}
	return heap_form_tuple(tupdesc, stored, row->isnull);
}

/* Read, check and insert all rows: how many. */
static uint64
load_rows(RawLoader *loader)
{
	MemoryContext old_context = MemoryContextSwitchTo(tuple_batch_context(loader->batch));
	const RawRow *row;
	uint64		n_rows = 0;

	while ((row = raw_rows_next(loader->rows)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		/* can the row break a constraint? */
		if (loader->has_others ||
			(loader->has_not_null && HeapTupleHasNulls(row->tuple)))
			check_constraints(loader, row);
		tuple_batch_add_tuple(loader->batch, tuple_of_batch(loader, row),
							  row->tuple->t_len);
		n_rows++;
	}
	MemoryContextSwitchTo(old_context);
	return n_rows;
}

/* Tell with any error where it was met. */
static void
add_place(void *arg)
{
	RawLoader  *loader = arg;

	errcontext("raw tuples of table \"%s\", up to row %u of a block",
			   RelationGetRelationName(loader->rel), loader->rows->number);
}

static void
begin_load(RawLoader *loader, Relation rel, const RawBlock *block)
{
	const TupleConstr *constr = RelationGetDescr(rel)->constr;

	loader->rel = rel;
	/* all that is allocated from here on goes with the executor's state */
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
 * Rows are inserted with the command ID of the statement that calls the
 * function.  Pages that it adds and does not use are kept for the next block
 * (tuple_batch.c: tuple_batch_end()).
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

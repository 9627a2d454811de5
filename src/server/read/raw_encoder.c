/*-------------------------------------------------------------------------
 *
 * raw_encoder.c
 *	  Encodes heap tuples as blocks of raw tuples.
 *
 * Where the columns are all of the table's, in its order, a tuple's bytes are
 * taken as they are, padding included: the server has made them of zeros
 * (heap_form_tuple), and there is no dropped column whose value could be
 * among them.  Every other tuple is formed again from the values asked for:
 * of a table with dropped columns, of some of the columns or in another
 * order, and one that was written before a column was added.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/server_compat.h"
#include "read/heap_reader.h"
#include "read/raw_block.h"
#include "read/raw_encoder.h"
#include "read/toast_reader.h"

struct RawEncoder
{
	Relation	rel;			/* borrowed */
	MemoryContext row_context;	/* reset for every row */
	ToastReader *toast;
	RawBlockHeader header;

	/* the table's tuples */
	int			n_columns;
	int		   *columns;		/* indexes of attributes */
	bool		all_columns;	/* as they are in the table */
	TupleDeformer *deformer;	/* up to the last of them */
	Datum	   *values;			/* by attribute */
	bool	   *isnull;

	/* the rows */
	TupleDesc	row_desc;
	TupleDeformer *row_deformer;
	Datum	   *row_values;		/* by column, as the next one */
	bool	   *row_isnull;

	/* the row being encoded */
	HeapTuple	row;			/* the table's tuple, or a new one */
	int			n_external;
	int		   *external;		/* columns */
	int			column;			/* whose value is looked at, or -1 */
};

static TupleDesc
describe_row(Relation rel, const AttrNumber *attnums, int n_attnums)
{
	TupleDesc	result;

	if (n_attnums > MaxHeapAttributeNumber)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("cannot read more than %d columns in raw format",
						MaxHeapAttributeNumber)));
	result = CreateTemplateTupleDesc(n_attnums);
	for (int i = 0; i < n_attnums; i++)
		TupleDescCopyEntry(result, i + 1, RelationGetDescr(rel), attnums[i]);
	finish_tuple_desc(result);
	return result;
}

static void
check_types(Relation rel, TupleDesc row_desc)
{
	const char *reason = raw_columns_reason(row_desc);

	if (reason != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read table \"%s\" in raw format: %s",
						RelationGetRelationName(rel), reason)));
}

RawEncoder *
raw_encoder_new(Relation rel, const AttrNumber *attnums, int n_attnums)
{
	RawEncoder *encoder = palloc0(sizeof(RawEncoder));
	int			natts = RelationGetNumberOfAttributes(rel);

	encoder->rel = rel;
	encoder->row_desc = describe_row(rel, attnums, n_attnums);
	check_types(rel, encoder->row_desc);
	raw_block_header_init(&encoder->header, encoder->row_desc);
	encoder->row_context = AllocSetContextCreate(CurrentMemoryContext,
												 "pg_pardump row",
												 ALLOCSET_DEFAULT_SIZES);
	encoder->toast = toast_reader_new(rel);
	encoder->n_columns = n_attnums;
	encoder->columns = palloc(sizeof(int) * (n_attnums + 1));
	encoder->all_columns = n_attnums == natts;
	for (int i = 0; i < n_attnums; i++)
	{
		encoder->columns[i] = attnums[i] - 1;
		if (attnums[i] != i + 1)
			encoder->all_columns = false;
	}
	encoder->deformer = tuple_deformer_new(RelationGetDescr(rel), natts);
	encoder->values = palloc(sizeof(Datum) * (natts + 1));
	encoder->isnull = palloc(sizeof(bool) * (natts + 1));
	encoder->row_deformer = tuple_deformer_new(encoder->row_desc, n_attnums);
	encoder->row_values = palloc(sizeof(Datum) * (n_attnums + 1));
	encoder->row_isnull = palloc(sizeof(bool) * (n_attnums + 1));
	encoder->external = palloc(sizeof(int) * (n_attnums + 1));
	encoder->column = -1;
	return encoder;
}

const RawBlockHeader *
raw_encoder_header(const RawEncoder *encoder)
{
	return &encoder->header;
}

static void
damaged_tuple(RawEncoder *encoder)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid length of a value in table \"%s\"",
					RelationGetRelationName(encoder->rel))));
}

/* Is the tuple that of the row, to the byte?  "used": tuple_deform()'s. */
static inline bool
is_row_as_stored(RawEncoder *encoder, HeapTuple tuple, Size used)
{
	HeapTupleHeader header = tuple->t_data;
	Size		hoff = SizeofHeapTupleHeader;

	if (HeapTupleHasNulls(tuple))
		hoff += BITMAPLEN(encoder->n_columns);
	return encoder->all_columns &&
		HeapTupleHeaderGetNatts(header) == encoder->n_columns &&
		header->t_hoff == MAXALIGN(hoff) && used == tuple->t_len;
}

/* A new tuple of the columns' values. */
static HeapTuple
form_row(RawEncoder *encoder)
{
	MemoryContext old_context = MemoryContextSwitchTo(encoder->row_context);
	HeapTuple	row;

	for (int i = 0; i < encoder->n_columns; i++)
	{
		encoder->row_values[i] = encoder->values[encoder->columns[i]];
		encoder->row_isnull[i] = encoder->isnull[encoder->columns[i]];
	}
	row = heap_form_tuple(encoder->row_desc, encoder->row_values,
						  encoder->row_isnull);
	MemoryContextSwitchTo(old_context);
	return row;
}

/* Find the values out of line: what they take in the frame. */
static Size
find_external(RawEncoder *encoder, const Datum *values, const bool *isnull)
{
	Size		bytes = 0;

	for (int i = 0; i < encoder->n_columns; i++)
	{
		struct varlena *value = (struct varlena *) DatumGetPointer(values[i]);

		if (isnull[i] || TupleDescAttr(encoder->row_desc, i)->attlen != -1 ||
			!VARATT_IS_EXTERNAL(value))
			continue;
		encoder->column = i;
		bytes += MAXIMUM_ALIGNOF +
			toast_reader_stored_size(encoder->toast, value);
		encoder->column = -1;
		encoder->row_values[i] = values[i];
		encoder->external[encoder->n_external++] = i;
	}
	return bytes;
}

Size
raw_encoder_take(RawEncoder *encoder, HeapTuple tuple)
{
	const Datum *values = encoder->values;
	const bool *isnull = encoder->isnull;
	Size		used = tuple_deform(encoder->deformer, tuple, encoder->values,
									encoder->isnull);
	Size		bytes;

	if (unlikely(used == 0))
		damaged_tuple(encoder);
	encoder->row = tuple;
	if (unlikely(!is_row_as_stored(encoder, tuple, used)))
	{
		MemoryContextReset(encoder->row_context);
		encoder->row = form_row(encoder);
		tuple_deform(encoder->row_deformer, encoder->row, encoder->row_values,
					 encoder->row_isnull);
		values = encoder->row_values;
		isnull = encoder->row_isnull;
	}
	bytes = sizeof(uint32) + encoder->row->t_len;
	encoder->n_external = 0;
	if (unlikely(HeapTupleHasExternal(encoder->row)))
		bytes += find_external(encoder, values, isnull);
	if (encoder->row->t_len > RAW_TUPLE_BYTES || bytes > RAW_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too long for raw format"),
				 errhint("Read the table in another format.")));
	return bytes;
}

/* The tuple, its pointers set to zero, so that they are never followed. */
static char *
append_tuple(RawEncoder *encoder, ByteBuffer *out, char *to)
{
	HeapTuple	row = encoder->row;
	const char *data = (const char *) row->t_data;
	Size		start = raw_tuple_start(HeapTupleHasNulls(row));
	uint32		word = row->t_len - start;

	if (HeapTupleHasNulls(row))
		word |= RAW_HAS_NULLS;
	if (HeapTupleHasVarWidth(row))
		word |= RAW_HAS_VARWIDTH;
	if (encoder->n_external > 0)
		word |= RAW_HAS_EXTERNAL;
	to = byte_buffer_append(out, to, (const char *) &word, sizeof(word));
	to = byte_buffer_append(out, to, data + start, row->t_len - start);

	for (int i = 0; i < encoder->n_external; i++)
	{
		Datum		value = encoder->row_values[encoder->external[i]];
		const char *pointer = DatumGetPointer(value);
		Size		behind = data + row->t_len - pointer;

		memset(VARDATA_EXTERNAL(to - behind), 0,
			   sizeof(struct varatt_external));
	}
	return to;
}

static char *
append_padding(ByteBuffer *out, char *to, Size start)
{
	Size		bytes = to - out->data - start;

	while (bytes++ % MAXIMUM_ALIGNOF != 0)
		to = byte_buffer_append_char(out, to, '\0');
	return to;
}

void
raw_encoder_append(RawEncoder *encoder, ByteBuffer *out, Size start)
{
	char	   *to = append_tuple(encoder, out, byte_buffer_place(out));

	for (int i = 0; i < encoder->n_external; i++)
	{
		struct varlena *value;

		encoder->column = encoder->external[i];
		value = (struct varlena *) DatumGetPointer(encoder->row_values[encoder->column]);
		to = append_padding(out, to, start);
		to = byte_buffer_reserve(out, to,
								 toast_reader_stored_size(encoder->toast,
														  value));
		toast_reader_fetch(encoder->toast, value, (struct varlena *) to);
		to += VARSIZE_4B(to);
	}
	byte_buffer_commit(out, to);
	encoder->column = -1;
}

const char *
raw_encoder_column(const RawEncoder *encoder)
{
	if (encoder->column < 0)
		return NULL;
	return NameStr(TupleDescAttr(encoder->row_desc, encoder->column)->attname);
}

void
raw_encoder_free(RawEncoder *encoder)
{
	toast_reader_free(encoder->toast);
	MemoryContextDelete(encoder->row_context);
	FreeTupleDesc(encoder->row_desc);
	pfree(encoder->columns);
	pfree(encoder->deformer);
	pfree(encoder->values);
	pfree(encoder->isnull);
	pfree(encoder->row_deformer);
	pfree(encoder->row_values);
	pfree(encoder->row_isnull);
	pfree(encoder->external);
	pfree(encoder);
}

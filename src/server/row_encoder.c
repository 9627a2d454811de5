/*-------------------------------------------------------------------------
 *
 * row_encoder.c
 *	  Encodes heap tuples as rows in a format of COPY.
 *
 * A row's form is that of src/backend/commands/copyto.c:CopyOneRowTo with the
 * default options.  As text: values with tabs between them, \N for NULL, and a
 * newline.  In binary: the number of values, 16 bits, and each value behind
 * its length, 32 bits, which is -1 for NULL; a head before all rows and -1 in
 * place of a number of values behind them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "column_encoder.h"
#include "row_encoder.h"
#include "toast_reader.h"

/* A longer value could not be loaded: COPY FROM's lines and values end there. */
#define MAX_VALUE_BYTES MaxAllocSize

struct RowEncoder
{
	Relation	rel;			/* borrowed */
	EncodeSettings settings;
	MemoryContext row_context;	/* reset for every row */
	ToastReader *toast;
	int			n_columns;
	int		   *columns;		/* indexes in values */
	int			n_varlenas;
	int		   *varlenas;		/* indexes of all attributes of this kind */
	ColumnEncoder *encoders;	/* by column */

	/* the row being encoded */
	bool		in_row;
	int			next_column;
	Datum	   *values;			/* by attribute */
	bool	   *isnull;
};

RowEncoder *
row_encoder_new(Relation rel, const AttrNumber *attnums, int n_attnums,
				RowFormat format)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	RowEncoder *encoder = palloc0(sizeof(RowEncoder));

	encoder->rel = rel;
	encode_settings_init(&encoder->settings, format);
	encoder->row_context = AllocSetContextCreate(CurrentMemoryContext,
												 "pg_pardump row",
												 ALLOCSET_DEFAULT_SIZES);
	encoder->toast = toast_reader_new(rel);
	encoder->n_columns = n_attnums;
	encoder->columns = palloc(sizeof(int) * (n_attnums + 1));
	encoder->encoders = palloc0(sizeof(ColumnEncoder) * (n_attnums + 1));
	for (int i = 0; i < n_attnums; i++)
	{
		encoder->columns[i] = attnums[i] - 1;
		column_encoder_init(&encoder->encoders[i],
							TupleDescAttr(tupdesc, attnums[i] - 1)->atttypid,
							&encoder->settings);
	}
	encoder->varlenas = palloc(sizeof(int) * (tupdesc->natts + 1));
	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (TupleDescAttr(tupdesc, i)->attlen == -1)
			encoder->varlenas[encoder->n_varlenas++] = i;
	}
	encoder->values = palloc(sizeof(Datum) * (tupdesc->natts + 1));
	encoder->isnull = palloc(sizeof(bool) * (tupdesc->natts + 1));
	return encoder;
}

static void
value_too_long(RowEncoder *encoder, HeapTuple tuple, int column)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("a value is too long for COPY"),
			 errdetail("Column \"%s\" of table \"%s\" holds it in the row at ctid (%u,%u): COPY would write more than %zu bytes.",
					   NameStr(TupleDescAttr(RelationGetDescr(encoder->rel),
											 encoder->columns[column])->attname),
					   RelationGetRelationName(encoder->rel),
					   ItemPointerGetBlockNumber(&tuple->t_self),
					   ItemPointerGetOffsetNumber(&tuple->t_self),
					   (Size) MAX_VALUE_BYTES)));
}

void
row_encoder_begin(RowEncoder *encoder, ByteBuffer *out)
{
	/* signature, flags, length of the head's extension */
	static const char head[19] = "PGCOPY\n\377\r\n\0";

	if (encoder->settings.format == ROW_BINARY)
		byte_buffer_append(out, head, sizeof(head));
}

static void
append_field_count(ByteBuffer *out, int count)
{
	char	   *p = byte_buffer_reserve(out, sizeof(int16));

	byte_buffer_commit(out, put_network_16(p, count));
}

void
row_encoder_end(RowEncoder *encoder, ByteBuffer *out)
{
	if (encoder->settings.format == ROW_BINARY)
		append_field_count(out, -1);
}

static inline void
encode_value(RowEncoder *encoder, HeapTuple tuple, int column,
			 ByteBuffer *out)
{
	bool		binary = encoder->settings.format == ROW_BINARY;
	int			attribute = encoder->columns[column];
	Datum		value = encoder->values[attribute];
	Size		start = out->len;

	if (encoder->isnull[attribute])
	{
		if (binary)
			append_null_length(out);
		else
			byte_buffer_append(out, "\\N", 2);
		return;
	}
	if (encoder->encoders[column].is_varlena)
	{
		struct varlena *stored = (struct varlena *) DatumGetPointer(value);

		if (VARATT_IS_EXTERNAL(stored) || VARATT_IS_COMPRESSED(stored))
			value = PointerGetDatum(toast_reader_get(encoder->toast, stored));
	}
	if (binary)
		column_encode_with_length(&encoder->encoders[column], value, out);
	else
		column_encode(&encoder->encoders[column], value, out);
	if (unlikely(out->len - start > MAX_VALUE_BYTES))
		value_too_long(encoder, tuple, column);
}

/*
 * Take the tuple apart, which gives columns added later the default they were
 * added with.  A damaged length would have us read beyond the tuple, the page
 * and all of shared memory.  As values lie one behind the other, it is enough
 * to look where the last one of variable length ends.
 */
static inline void
deform_tuple(RowEncoder *encoder, HeapTuple tuple)
{
	HeapTupleHeader header = tuple->t_data;
	const char *end = (const char *) header + tuple->t_len;
	int			n_stored = HeapTupleHeaderGetNatts(header);
	bool		sound = header->t_hoff <= tuple->t_len;

	if (likely(sound))
		heap_deform_tuple(tuple, RelationGetDescr(encoder->rel),
						  encoder->values, encoder->isnull);
	for (int i = encoder->n_varlenas - 1; i >= 0 && sound; i--)
	{
		int			attribute = encoder->varlenas[i];
		const char *value = DatumGetPointer(encoder->values[attribute]);

		if (attribute >= n_stored || encoder->isnull[attribute])
			continue;
		sound = value < end && VARSIZE_ANY(value) <= end - value;
		break;
	}
	if (unlikely(!sound))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid length of a value in table \"%s\"",
						RelationGetRelationName(encoder->rel))));
}

bool
row_encode(RowEncoder *encoder, HeapTuple tuple, ByteBuffer *out, Size limit)
{
	MemoryContext old_context = MemoryContextSwitchTo(encoder->row_context);
	bool		text = encoder->settings.format == ROW_TEXT;

	if (!encoder->in_row)
	{
		deform_tuple(encoder, tuple);
		if (!text)
			append_field_count(out, encoder->n_columns);
		encoder->in_row = true;
		encoder->next_column = 0;
	}
	while (encoder->next_column < encoder->n_columns && out->len < limit)
	{
		if (text && encoder->next_column > 0)
			byte_buffer_append_char(out, '\t');
		encode_value(encoder, tuple, encoder->next_column, out);
		encoder->next_column++;
	}
	if (encoder->next_column == encoder->n_columns)
	{
		if (text)
			byte_buffer_append_char(out, '\n');
		encoder->in_row = false;
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(encoder->row_context);
	return !encoder->in_row;
}

void
row_encoder_free(RowEncoder *encoder)
{
	toast_reader_free(encoder->toast);
	MemoryContextDelete(encoder->row_context);
	pfree(encoder->columns);
	pfree(encoder->encoders);
	pfree(encoder->varlenas);
	pfree(encoder->values);
	pfree(encoder->isnull);
	pfree(encoder);
}

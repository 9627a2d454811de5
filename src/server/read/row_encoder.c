/*-------------------------------------------------------------------------
 *
 * row_encoder.c
 *	  Encodes heap tuples as rows in a format of COPY.
 *
 * A row's form is that of src/backend/commands/copyto.c:CopyOneRowTo with the
 * default options.  As text: values with tabs between them, \N for NULL, and
 * a newline.  In binary: the number of values, 16 bits, and each value behind
 * its length, 32 bits, which is -1 for NULL; a head before all rows and -1 in
 * place of a number of values behind them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "encode/choose_encoder.h"
#include "heap/toast_reader.h"
#include "heap/tuple_deform.h"
#include "read/row_encoder.h"

struct RowEncoder
{
	Relation	rel;			/* borrowed */
	EncodeSettings settings;
	MemoryContext row_context;	/* reset for every row */
	ToastReader *toast;
	int			n_columns;
	int		   *columns;		/* indexes in values */
	TupleDeformer *deformer;	/* up to the last of them */
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
	int			last_attnum = 0;

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
		choose_encoder(&encoder->encoders[i],
					   TupleDescAttr(tupdesc, attnums[i] - 1)->atttypid,
					   &encoder->settings);
		last_attnum = Max(last_attnum, attnums[i]);
	}
	encoder->deformer = tuple_deformer_new(tupdesc, last_attnum);
	encoder->values = palloc(sizeof(Datum) * (last_attnum + 1));
	encoder->isnull = palloc(sizeof(bool) * (last_attnum + 1));
	return encoder;
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
encode_value(RowEncoder *encoder, int column, ByteBuffer *out)
{
	bool		binary = encoder->settings.format == ROW_BINARY;
	int			attribute = encoder->columns[column];
	Datum		value = encoder->values[attribute];

	if (encoder->isnull[attribute])
	{
		if (binary)
			append_null_length(out);
		else
			byte_buffer_append(out, "\\N", 2);
		return;
	}
	/* detoasted here, where buffers are kept, rather than by the encoder */
	if (encoder->encoders[column].is_varlena)
	{
		struct varlena *stored = (struct varlena *) DatumGetPointer(value);

		if (VARATT_IS_EXTERNAL(stored) || VARATT_IS_COMPRESSED(stored))
			value = PointerGetDatum(toast_reader_get(encoder->toast, stored));
	}
	byte_buffer_begin_value(out);
	if (binary)
		column_encode_with_length(&encoder->encoders[column], value, out);
	else
		column_encode(&encoder->encoders[column], value, out);
	byte_buffer_end_value(out);
}

static inline void
deform_tuple(RowEncoder *encoder, HeapTuple tuple)
{
	if (unlikely(!tuple_deform(encoder->deformer, tuple, encoder->values,
							   encoder->isnull)))
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

	/* the values of a row that goes on point into its tuple, as before */
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
		encode_value(encoder, encoder->next_column, out);
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

const char *
row_encoder_column(const RowEncoder *encoder)
{
	int			attribute;

	if (!encoder->in_row || encoder->next_column == encoder->n_columns)
		return NULL;
	attribute = encoder->columns[encoder->next_column];
	return NameStr(TupleDescAttr(RelationGetDescr(encoder->rel),
								 attribute)->attname);
}

void
row_encoder_free(RowEncoder *encoder)
{
	toast_reader_free(encoder->toast);
	MemoryContextDelete(encoder->row_context);
	pfree(encoder->columns);
	pfree(encoder->encoders);
	pfree(encoder->deformer);
	pfree(encoder->values);
	pfree(encoder->isnull);
	pfree(encoder);
}

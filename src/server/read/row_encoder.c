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
row_encoder_watch(RowEncoder *encoder, ToastWatcher watcher, void *arg)
{
	toast_reader_watch(encoder->toast, watcher, arg);
}

void
row_encoder_begin(RowEncoder *encoder, ByteBuffer *out)
{
	/* signature, flags, length of the head's extension */
	static const char head[19] = "PGCOPY\n\377\r\n\0";

	if (encoder->settings.format == ROW_BINARY)
		byte_buffer_commit(out, byte_buffer_append(out, byte_buffer_place(out),
												   head, sizeof(head)));
}

static char *
append_field_count(ByteBuffer *out, char *to, int count)
{
	return put_network_16(byte_buffer_reserve(out, to, sizeof(int16)), count);
}

void
row_encoder_end(RowEncoder *encoder, ByteBuffer *out)
{
	if (encoder->settings.format == ROW_BINARY)
		byte_buffer_commit(out, append_field_count(out, byte_buffer_place(out),
												   -1));
}

static inline char *
append_null(ByteBuffer *out, char *to, bool binary)
{
	return binary ? append_null_length(out, to) :
		byte_buffer_append(out, to, "\\N", 2);
}

/* Detoast here, where buffers are kept, rather than in the encoder. */
static inline Datum
plain_value(RowEncoder *encoder, Datum value)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);

	if (VARATT_IS_EXTERNAL(stored) || VARATT_IS_COMPRESSED(stored))
		return PointerGetDatum(toast_reader_get(encoder->toast, stored));
	return value;
}

/*
 * Append the row's values from the next one on, until the buffer holds
 * "limit" bytes.  Members are read once: bytes are written in between, and
 * could be anything to the compiler.
 */
static pg_attribute_always_inline char *
append_values(RowEncoder *encoder, ByteBuffer *out, char *to, Size limit,
			  bool binary)
{
	const int  *columns = encoder->columns;
	const Datum *values = encoder->values;
	const bool *isnull = encoder->isnull;
	int			n_columns = encoder->n_columns;
	int			column = encoder->next_column;

	for (; column < n_columns && to - out->data < limit; column++)
	{
		ColumnEncoder *column_encoder = &encoder->encoders[column];
		int			attribute = columns[column];
		Datum		value = values[attribute];

		encoder->next_column = column;	/* for an error's context */
		if (!binary && column > 0)
			to = byte_buffer_append_char(out, to, '\t');
		byte_buffer_begin_value(out, to);
		if (isnull[attribute])
		{
			to = append_null(out, to, binary);
			continue;
		}
		if (column_encoder->is_varlena)
			value = plain_value(encoder, value);
		if (binary)
			to = column_encode_with_length(column_encoder, value, out, to);
		else
			to = column_encode(column_encoder, value, out, to);
		byte_buffer_end_value(out, to);
	}
	encoder->next_column = column;
	return to;
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
	char	   *to = byte_buffer_place(out);

	/*
	 * the values of a row that is continued point into its tuple, as before
	 */
	if (!encoder->in_row)
	{
		deform_tuple(encoder, tuple);
		if (!text)
			to = append_field_count(out, to, encoder->n_columns);
		encoder->in_row = true;
		encoder->next_column = 0;
	}
	if (text)
		to = append_values(encoder, out, to, limit, false);
	else
		to = append_values(encoder, out, to, limit, true);
	if (encoder->next_column == encoder->n_columns)
	{
		if (text)
			to = byte_buffer_append_char(out, to, '\n');
		encoder->in_row = false;
	}
	byte_buffer_commit(out, to);
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

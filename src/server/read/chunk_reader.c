/*-------------------------------------------------------------------------
 *
 * chunk_reader.c
 *	  Reads a chunk of a table and returns its rows in blocks, as COPY's
 *	  output or as raw tuples.
 *
 * function/read_function.c calls this for pg_pardump_read().  heap_reader.c
 * finds the tuples.  A RowEncoder writes them as COPY does, and a RawEncoder
 * nearly as they are stored.  A ChunkReader gathers the result in blocks,
 * compresses them, and returns one after another.
 *
 * The memory that is needed depends on the size of a block and of the longest
 * value, in COPY's output and as it is stored.  It does not depend on the
 * size of a row, as a row may be in several blocks, and a block with a long
 * value is returned in several pieces.  Only a block of raw tuples contains
 * whole rows, and is compressed by itself, so that it can be loaded without
 * any other block.
 *
 * Everything is allocated in the context in which chunk_reader_new() is
 * called, and freed with it.  chunk_reader_free() only releases pins and
 * relations, which belong to the resource owner.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "bytes/context_compressor.h"
#include "read/chunk_reader.h"
#include "read/raw_block.h"
#include "read/toast_reader.h"
#include "types/choose.h"

/* ----------
 * Encodes heap tuples as rows in a format of COPY.
 *
 * The form of a row is that of CopyOneRowTo()
 * (src/backend/commands/copyto.c) with the default options.  A row in text
 * format consists of values with tabs between them, \N for NULL, and a
 * newline.  A row in binary format begins with the number of values in 16
 * bits.  Each value follows its length in 32 bits, which is -1 for NULL.  A
 * header precedes all rows, and -1 instead of a number of values follows
 * them.
 * ----------
 */

typedef struct RowEncoder
{
	const HeapRange *range;		/* borrowed, like the next three */
	MemoryContext row_context;	/* reset for every row */
	ToastReader *toast;
	RangeFingerprint *fingerprint;	/* of the rows, or NULL */
	EncodeSettings settings;
	TupleDeformer *deformer;	/* up to the column with the highest number */
	ColumnEncoder *encoders;	/* by column */

	/* the row being encoded */
	bool		in_row;
	int			next_column;
} RowEncoder;

/*
 * Create an encoder for the columns of a range, in their order, with the
 * current settings of the session.  Allocates in CurrentMemoryContext; the
 * relation must stay open.
 */
static RowEncoder *
row_encoder_new(const HeapRange *range, RowFormat format,
				MemoryContext row_context, ToastReader *toast)
{
	TupleDesc	tupdesc = RelationGetDescr(range->rel);
	RowEncoder *encoder = palloc0(sizeof(RowEncoder));
	int			last_attnum = 0;

	encoder->range = range;
	encoder->row_context = row_context;
	encoder->toast = toast;
	encode_settings_init(&encoder->settings, format);
	/* one more than needed, as there may be no columns */
	encoder->encoders = palloc0(sizeof(ColumnEncoder) *
								(range->n_attnums + 1));
	for (int i = 0; i < range->n_attnums; i++)
	{
		AttrNumber	attnum = range->attnums[i];

		choose_encoder(&encoder->encoders[i],
					   TupleDescAttr(tupdesc, attnum - 1)->atttypid,
					   &encoder->settings);
		last_attnum = Max(last_attnum, attnum);
	}
	/* attributes after the last column need not be deformed */
	encoder->deformer = tuple_deformer_new(tupdesc, last_attnum);
	return encoder;
}

/* Append the header of the binary format. */
static void
row_encoder_begin(RowEncoder *encoder, ByteBuffer *out)
{
	/* signature, flags, length of the header's extension */
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

/* Append the end marker of the binary format. */
static void
row_encoder_end(RowEncoder *encoder, ByteBuffer *out)
{
	if (encoder->settings.format == ROW_BINARY)
		byte_buffer_commit(out, append_field_count(out, byte_buffer_place(out),
												   -1));
}

/*
 * Fetch and decompress a value.  Column encoders get plain values, as the
 * buffers of the toast reader are reused from one value to the next.
 */
static inline Datum
plain_value(RowEncoder *encoder, Datum value)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);

	if (VARATT_IS_EXTERNAL(stored))
	{
		stored = toast_reader_get_stored(encoder->toast, stored);
		if (encoder->fingerprint)
			range_fingerprint_add_value(encoder->fingerprint, stored);
	}
	if (VARATT_IS_COMPRESSED(stored))
		stored = toast_reader_decompress(encoder->toast, stored);
	return PointerGetDatum(stored);
}

/*
 * Append values of the row, beginning with the next one, until the buffer
 * contains "limit" bytes.  Members of structs are read once, before the loop:
 * the loop writes bytes, and the compiler must assume that these may change
 * any member.  "binary" is a constant in each of the two calls, so the loop
 * is compiled once for each format.
 */
static pg_attribute_always_inline char *
append_values(RowEncoder *encoder, ByteBuffer *out, char *to, Size limit,
			  bool binary)
{
	const AttrNumber *attnums = encoder->range->attnums;
	const Datum *values = encoder->deformer->values;
	const bool *isnull = encoder->deformer->isnull;
	int			n_columns = encoder->range->n_attnums;
	int			column = encoder->next_column;

	for (; column < n_columns && to - out->data < limit; column++)
	{
		ColumnEncoder *column_encoder = &encoder->encoders[column];
		int			attribute = attnums[column] - 1;
		Datum		value = values[attribute];

		encoder->next_column = column;	/* for an error's context */
		if (!binary && column > 0)
			to = byte_buffer_append_char(out, to, '\t');
		byte_buffer_begin_value(out, to);
		if (isnull[attribute])
		{
			to = binary ? append_null_length(out, to) :
				byte_buffer_append(out, to, "\\N", 2);
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

/*
 * Append the row of a tuple.  Returns true if the row is complete.  Returns
 * false if the buffer contains "limit" bytes before that; the next call, with
 * the same tuple, continues after the last value.  A value that has more than
 * 1 GB in COPY's format is an error, and so is damage
 * (ERRCODE_DATA_CORRUPTED).
 */
static bool
row_encode(RowEncoder *encoder, HeapTuple tuple, ByteBuffer *out, Size limit)
{
	MemoryContext old_context = MemoryContextSwitchTo(encoder->row_context);
	bool		text = encoder->settings.format == ROW_TEXT;
	char	   *to = byte_buffer_place(out);

	/*
	 * If a row is continued, its values still point into the tuple, whose
	 * page stays pinned until heap_reader_next() is called.
	 */
	if (!encoder->in_row)
	{
		if (unlikely(!tuple_deform(encoder->deformer, tuple)))
			heap_damaged_tuple(encoder->range->rel);
		if (!text)
			to = append_field_count(out, to, encoder->range->n_attnums);
		encoder->in_row = true;
		encoder->next_column = 0;
	}
	if (text)
		to = append_values(encoder, out, to, limit, false);
	else
		to = append_values(encoder, out, to, limit, true);
	if (encoder->next_column == encoder->range->n_attnums)
	{
		if (text)
			to = byte_buffer_append_char(out, to, '\n');
		encoder->in_row = false;
	}
	byte_buffer_commit(out, to);
	MemoryContextSwitchTo(old_context);
	/* values are written completely, so no memory of them is needed again */
	MemoryContextReset(encoder->row_context);
	return !encoder->in_row;
}

/* ----------
 * Encodes heap tuples as frames of a block of raw tuples (read/raw_block.h).
 *
 * If all columns of the table are read, in their order, the bytes of a tuple
 * are copied unchanged, including padding.  They reveal nothing else: the
 * server fills padding with zeros (heap_form_tuple), and there is no dropped
 * column whose value could be among them.  In all other cases a tuple is
 * formed of the values: if the table has dropped columns, if only some
 * columns are read or in another order, and if the tuple was written before a
 * column was added.
 * ----------
 */

typedef struct RawEncoder
{
	const HeapRange *range;		/* borrowed, like the next two */
	MemoryContext row_context;	/* reset for every row */
	ToastReader *toast;
	RawBlockHeader header;

	/* the table's tuples */
	bool		all_columns;	/* all columns are read, in their order */
	TupleDeformer *deformer;	/* for all attributes */

	/* the rows */
	TupleDesc	row_desc;
	TupleDeformer *row_deformer;	/* values by column */

	/* the row being encoded */
	HeapTuple	row;			/* the table's tuple, or a new one */
	int			n_external;
	int		   *external;		/* columns with out-of-line values */
	int			column;			/* column being read, or -1 */
} RawEncoder;

static void
raw_row_too_long(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("row is too long for raw format"),
			 errhint("Read the table in text format.  With pg_pardump, use --copy-format=text.")));
}

/*
 * Create an encoder for the columns of a range, in their order.  Raises an
 * error if the type of a column is not portable.  Allocates in
 * CurrentMemoryContext; the relation must stay open.
 */
static RawEncoder *
raw_encoder_new(const HeapRange *range, MemoryContext row_context,
				ToastReader *toast)
{
	RawEncoder *encoder = palloc0(sizeof(RawEncoder));
	Relation	rel = range->rel;
	const AttrNumber *attnums = range->attnums;
	int			n_attnums = range->n_attnums;
	int			natts = RelationGetNumberOfAttributes(rel);
	const char *reason;
	TupleDesc	result;

	encoder->range = range;
	encoder->row_context = row_context;
	encoder->toast = toast;
	if (n_attnums > MaxHeapAttributeNumber)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("cannot read more than %d columns in raw format",
						MaxHeapAttributeNumber)));
	encoder->all_columns = n_attnums == natts;
	result = CreateTemplateTupleDesc(n_attnums);
	for (int i = 0; i < n_attnums; i++)
	{
		TupleDescCopyEntry(result, i + 1, RelationGetDescr(rel), attnums[i]);
		if (attnums[i] != i + 1)
			encoder->all_columns = false;
	}
	finish_tuple_desc(result);
	encoder->row_desc = result;
	reason = raw_columns_reason(encoder->row_desc);
	if (reason != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read table \"%s\" in raw format: %s",
						RelationGetRelationName(rel), reason)));
	raw_block_header_init(&encoder->header, encoder->row_desc);
	encoder->deformer = tuple_deformer_new(RelationGetDescr(rel), natts);
	encoder->row_deformer = tuple_deformer_new(encoder->row_desc, n_attnums);
	encoder->external = palloc(sizeof(int) * (n_attnums + 1));
	encoder->column = -1;
	return encoder;
}

/*
 * Can the bytes of the tuple be copied?  "used" is the result of
 * tuple_deform().
 *
 * The columns must be all attributes of the table, and the tuple must contain
 * all of these, with nothing after the last value.  Its header must have the
 * length that heap_form_tuple() would give it, since a frame does not contain
 * the offset of the values: the loader computes that.
 */
static inline bool
is_row_as_stored(RawEncoder *encoder, HeapTuple tuple, Size used)
{
	HeapTupleHeader header = tuple->t_data;
	Size		hoff = SizeofHeapTupleHeader;

	if (HeapTupleHasNulls(tuple))
		hoff += BITMAPLEN(encoder->range->n_attnums);
	return encoder->all_columns &&
		HeapTupleHeaderGetNatts(header) == encoder->range->n_attnums &&
		header->t_hoff == MAXALIGN(hoff) && used == tuple->t_len;
}

/*
 * Form a tuple of the columns' values.  heap_form_tuple() copies compressed
 * values and TOAST pointers unchanged.
 */
static HeapTuple
form_row(RawEncoder *encoder)
{
	MemoryContext old_context = MemoryContextSwitchTo(encoder->row_context);
	Datum	   *values = encoder->row_deformer->values;
	bool	   *isnull = encoder->row_deformer->isnull;
	HeapTuple	row;

	for (int i = 0; i < encoder->range->n_attnums; i++)
	{
		int			attribute = encoder->range->attnums[i] - 1;

		values[i] = encoder->deformer->values[attribute];
		isnull[i] = encoder->deformer->isnull[attribute];
	}
	row = heap_form_tuple(encoder->row_desc, values, isnull);
	MemoryContextSwitchTo(old_context);
	return row;
}

/*
 * Find the out-of-line values and store their pointers.  Returns the room
 * that the values need in the frame.
 */
static Size
find_external(RawEncoder *encoder, const Datum *values, const bool *isnull)
{
	Size		bytes = 0;

	for (int i = 0; i < encoder->range->n_attnums; i++)
	{
		struct varlena *value = (struct varlena *) DatumGetPointer(values[i]);

		if (isnull[i] || TupleDescAttr(encoder->row_desc, i)->attlen != -1 ||
			!VARATT_IS_EXTERNAL(value))
			continue;
		/* the error for a damaged pointer names this column */
		encoder->column = i;
		bytes += MAXIMUM_ALIGNOF +
			toast_reader_stored_size(encoder->toast, value);
		encoder->column = -1;
		encoder->row_deformer->values[i] = values[i];
		encoder->external[encoder->n_external++] = i;
	}
	return bytes;
}

/*
 * Prepare to append a tuple, which must remain in its place until then.
 * Returns the number of bytes that its frame can have at most.  Damage is an
 * error (XX001), and so is a row of 1 GB (54000).
 */
static Size
raw_encoder_take(RawEncoder *encoder, HeapTuple tuple)
{
	TupleDeformer *deformer = encoder->deformer;
	Size		used = tuple_deform(deformer, tuple);
	Size		bytes;

	if (unlikely(used == 0))
		heap_damaged_tuple(encoder->range->rel);
	encoder->row = tuple;
	if (unlikely(!is_row_as_stored(encoder, tuple, used)))
	{
		MemoryContextReset(encoder->row_context);
		encoder->row = form_row(encoder);

		/* find_external() needs pointers into the new tuple */
		deformer = encoder->row_deformer;
		tuple_deform(deformer, encoder->row);
	}
	bytes = sizeof(uint32) + encoder->row->t_len;
	encoder->n_external = 0;
	if (unlikely(HeapTupleHasExternal(encoder->row)))
		bytes += find_external(encoder, deformer->values, deformer->isnull);
	if (encoder->row->t_len > RAW_TUPLE_BYTES || bytes > RAW_MAX_BYTES)
		raw_row_too_long();
	return bytes;
}

/*
 * Append the tuple, with TOAST pointers set to zero.  On the server that
 * loads the block, these would point to another value, or to none.
 */
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
		const char *pointer = DatumGetPointer(encoder->row_deformer->values[encoder->external[i]]);
		Size		behind = data + row->t_len - pointer;

		memset(VARDATA_EXTERNAL(to - behind), 0,
			   sizeof(struct varatt_external));
	}
	return to;
}

/*
 * Append zeros up to the next aligned offset, counted from the first frame.
 * The loader reads values in the block without copying them, and aligns the
 * first frame.
 */
static char *
append_padding(ByteBuffer *out, char *to, Size start)
{
	Size		bytes = to - out->data - start;

	while (bytes++ % MAXIMUM_ALIGNOF != 0)
		to = byte_buffer_append_char(out, to, '\0');
	return to;
}

/*
 * Append the frame of the tuple that was passed to raw_encoder_take().  The
 * first frame of a block begins at "start" in the buffer.
 */
static void
raw_encoder_append(RawEncoder *encoder, ByteBuffer *out, Size start)
{
	char	   *to = append_tuple(encoder, out, byte_buffer_place(out));

	for (int i = 0; i < encoder->n_external; i++)
	{
		struct varlena *value;

		encoder->column = encoder->external[i];
		value = (struct varlena *)
			DatumGetPointer(encoder->row_deformer->values[encoder->column]);
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

/* ----------
 * Reads a chunk: gathers rows in blocks, compresses these, and returns them
 * as bytea values.
 * ----------
 */

/* The approximate size of a block of rows, and of a compressed value. */
#define BLOCK_BYTES ((Size) 1024 * 1024)

/*
 * The initial size of buffers, which is small because most tables are, and
 * because using new memory pages takes time.
 */
#define FIRST_BYTES ((Size) 32 * 1024)

/* Longer blocks of rows are returned in pieces of this size. */
#define PIECE_BYTES ((Size) 16 * 1024 * 1024)

/*
 * With chooses_blocks, a block is compressed if a sample of this size becomes
 * smaller by this factor.  This was measured with lz4 and copies within a
 * machine: compressing rows of pgbench_accounts saves 17 % of the CPU time;
 * compressing rows of a log to half their size takes 24 % more.
 */
#define SAMPLE_BYTES ((Size) 16 * 1024)
#define LEAST_RATIO 4

/*
 * Longer blocks of rows are compressed in pieces, with a test for a cancel
 * request between them: the highest levels take a second for a piece.
 */
#define COMPRESS_BYTES (2 * BLOCK_BYTES)

struct ChunkReader
{
	const HeapRange *range;		/* borrowed */
	HeapReader *heap;
	ToastReader *toast;
	RowEncoder *rows;			/* NULL for raw tuples */
	RawEncoder *raw;			/* NULL for formats of COPY */
	HeapTuple	tuple;			/* tuple whose row is incomplete, or NULL */
	Size		raw_bytes;		/* bytes of its frame, at most */
	bool		at_end;			/* all rows are encoded */
	uint64		n_rows;			/* encoded so far */
	uint64		n_bytes;

	/* Buffers begin with the header of the bytea that they become. */
	ByteBuffer	block;			/* of rows */
	Size		block_start;	/* returned or compressed up to here */
	ChunkFormat format;
	BlockCompressor *compressor;	/* NULL for none */
	ByteBuffer	out;
};

/*
 * Nothing is pinned, and no TOAST table opened, before the first call of
 * chunk_reader_next().  So after an error here only memory must be freed.
 */
ChunkReader *
chunk_reader_new(const HeapRange *range, Snapshot snapshot,
				 const ChunkFormat *format, RangeFingerprint *fingerprint)
{
	ChunkReader *reader = palloc0(sizeof(ChunkReader));
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext,
													  "pg_pardump row",
													  ALLOCSET_DEFAULT_SIZES);

	/* a rollback cannot remove a file whose pages are pinned between calls */
	heap_check_lasts(range->rel);
	reader->range = range;
	reader->format = *format;
	if (format->compress.method != COMPRESS_NONE)
	{
		reader->compressor = context_compressor_new(&format->compress, false);
		byte_buffer_init(&reader->out, FIRST_BYTES);
	}
	byte_buffer_init(&reader->block, FIRST_BYTES);
	reader->heap = heap_reader_new(range->rel, snapshot, range->start,
								   range->end);
	reader->toast = toast_reader_new(range->rel);
	reader->block.len = reader->block_start = VARHDRSZ;
	if (format->format == ROW_RAW)
		reader->raw = raw_encoder_new(range, row_context, reader->toast);
	else
	{
		/* the header of the binary format becomes part of the first block */
		reader->rows = row_encoder_new(range, format->format, row_context,
									   reader->toast);
		reader->rows->fingerprint = fingerprint;
		row_encoder_begin(reader->rows, &reader->block);
	}
	reader->n_bytes = reader->block.len - VARHDRSZ;
	return reader;
}

/*
 * Empty a buffer, except for the header of the bytea that it becomes.  The
 * memory of a long value is freed, as a cursor may be open for a long time.
 */
static void
clear_buffer(ByteBuffer *buf)
{
	if (buf->size > 2 * PIECE_BYTES)
	{
		buf->data = repalloc_huge(buf->data, 2 * BLOCK_BYTES);
		buf->size = 2 * BLOCK_BYTES;
	}
	buf->len = VARHDRSZ;
}

/* Fill the block with the next rows.  It is empty at the end of the chunk. */
static void
next_block(ChunkReader *reader)
{
	ByteBuffer *block = &reader->block;

	clear_buffer(block);
	reader->block_start = block->len;
	while (block->len < BLOCK_BYTES && !reader->at_end)
	{
		if (reader->tuple == NULL)
		{
			reader->tuple = heap_reader_next(reader->heap);
			if (reader->tuple && reader->rows->fingerprint)
				range_fingerprint_add_tuple(reader->rows->fingerprint,
											reader->tuple);
		}
		if (reader->tuple == NULL)
		{
			row_encoder_end(reader->rows, block);
			reader->at_end = true;
		}
		else if (row_encode(reader->rows, reader->tuple, block, BLOCK_BYTES))
		{
			reader->tuple = NULL;
			reader->n_rows++;
		}
	}
	reader->n_bytes += block->len - VARHDRSZ;
}

static bytea *
as_bytea(ByteBuffer *buf)
{
	SET_VARSIZE(buf->data, buf->len);
	return (bytea *) buf->data;
}

/*
 * Return the next rows without compression.  A usual block is returned in
 * place, a long one in pieces.
 */
static bytea *
next_plain(ChunkReader *reader)
{
	ByteBuffer *block = &reader->block;
	Size		left;
	char	   *piece;

	if (reader->block_start == block->len)
		next_block(reader);
	left = block->len - reader->block_start;
	if (left == 0)
		return NULL;
	if (reader->block_start == VARHDRSZ && left <= PIECE_BYTES)
	{
		reader->block_start = block->len;
		return as_bytea(block);
	}

	/*
	 * The header of the piece overwrites bytes that were returned before.
	 * Each piece except the last one has PIECE_BYTES, so the headers are
	 * aligned.
	 */
	piece = block->data + reader->block_start - VARHDRSZ;
	left = Min(left, PIECE_BYTES);
	SET_VARSIZE(piece, left + VARHDRSZ);
	reader->block_start += left;
	return (bytea *) piece;
}

/*
 * Fetch output of the compressor.  Returns true if it has filled a block, so
 * that there may be more.
 */
static bool
fetch_compressed(ChunkReader *reader)
{
	ByteBuffer *out = &reader->out;
	Size		need = block_compressor_out_bytes(reader->compressor);

	while (out->len < BLOCK_BYTES)
	{
		char	   *to = byte_buffer_reserve(out, byte_buffer_place(out), need);
		Size		made = context_compressor_fetch(reader->compressor, to);

		if (made == 0)
			break;
		byte_buffer_commit(out, to + made);
		CHECK_FOR_INTERRUPTS();
	}
	return out->len >= BLOCK_BYTES;
}

/*
 * Return the next value of the compressed stream.  Rows are passed to the
 * compressor until there is a block's size of output, or the stream ends.  So
 * values have about the same size, no matter how much rows are compressed.
 */
static bytea *
next_compressed(ChunkReader *reader)
{
	reader->out.len = VARHDRSZ;
	while (!fetch_compressed(reader))
	{
		Size		left;
		Size		piece;

		if (reader->block_start == reader->block.len)
		{
			if (reader->at_end)
				break;			/* all output has been fetched */
			next_block(reader);
		}

		/*
		 * Pass the next piece of the block to the compressor.  The stream
		 * ends with the last block.
		 */
		left = reader->block.len - reader->block_start;
		piece = Min(left, COMPRESS_BYTES);
		CHECK_FOR_INTERRUPTS();
		block_compressor_feed(reader->compressor,
							  reader->block.data + reader->block_start, piece,
							  reader->at_end && piece == left);
		reader->block_start += piece;
	}
	return reader->out.len > VARHDRSZ ? as_bytea(&reader->out) : NULL;
}

/* ----------
 * Raw tuples
 * ----------
 */

/* Gather rows after the place for a header.  Returns their number. */
static uint32
next_raw_rows(ChunkReader *reader)
{
	ByteBuffer *block = &reader->block;
	Size		start = VARHDRSZ + sizeof(RawBlockHeader);
	uint32		n_rows = 0;
	char	   *to;

	clear_buffer(block);
	to = byte_buffer_reserve(block, byte_buffer_place(block),
							 sizeof(RawBlockHeader));
	byte_buffer_commit(block, to + sizeof(RawBlockHeader));
	for (;;)
	{
		if (reader->tuple == NULL)
		{
			reader->tuple = heap_reader_next(reader->heap);
			if (reader->tuple == NULL)
				return n_rows;
			reader->raw_bytes = raw_encoder_take(reader->raw, reader->tuple);
		}
		/* a row that does not fit begins the next block */
		if (n_rows > 0 &&
			block->len + reader->raw_bytes > RAW_BLOCK_BYTES + start)
			return n_rows;
		raw_encoder_append(reader->raw, block, start);
		reader->tuple = NULL;
		n_rows++;
	}
}

/* Compress the rows of the block, which end at "end", into "out". */
static void
compress_raw_rows(ChunkReader *reader, Size end)
{
	ByteBuffer *out = &reader->out;
	Size		start = VARHDRSZ + sizeof(RawBlockHeader);
	char	   *to;

	CHECK_FOR_INTERRUPTS();
	clear_buffer(out);
	out->len = start;
	to = byte_buffer_reserve(out, byte_buffer_place(out),
							 block_compressor_bound(reader->compressor,
													end - start));
	to += context_compressor_whole(reader->compressor,
								   reader->block.data + start, end - start, to);
	byte_buffer_commit(out, to);
}

/*
 * Should the block be compressed?  With chooses_blocks, a sample from its
 * beginning is compressed to find out.
 */
static bool
is_compressed(ChunkReader *reader)
{
	Size		start = VARHDRSZ + sizeof(RawBlockHeader);
	Size		sample = Min(reader->block.len - start, SAMPLE_BYTES);

	if (reader->compressor == NULL || !reader->format.chooses_blocks)
		return reader->compressor != NULL;
	compress_raw_rows(reader, start + sample);
	return (reader->out.len - start) * LEAST_RATIO <= sample;
}

/*
 * Return the next block of raw tuples.  Its header is written last, since it
 * contains the lengths of the other parts.
 */
static bytea *
next_raw(ChunkReader *reader)
{
	ByteBuffer *made = &reader->block;
	RawBlockHeader header = reader->raw->header;

	header.n_rows = next_raw_rows(reader);
	if (header.n_rows == 0)
		return NULL;
	header.frame_bytes = reader->block.len - VARHDRSZ - sizeof(header);
	header.compression = COMPRESS_NONE;
	if (is_compressed(reader))
	{
		header.compression = reader->format.compress.method;
		compress_raw_rows(reader, reader->block.len);
		made = &reader->out;
	}
	if (made->len > MaxAllocSize)
		raw_row_too_long();
	header.stored_bytes = made->len - VARHDRSZ - sizeof(header);
	memcpy(made->data + VARHDRSZ, &header, sizeof(header));
	reader->n_rows += header.n_rows;
	reader->n_bytes += header.frame_bytes;
	return as_bytea(made);
}

/*
 * Add the row to the context of errors, and the column if a value is being
 * encoded or fetched.
 */
static void
add_place(void *arg)
{
	ChunkReader *reader = arg;
	const RowEncoder *rows = reader->rows;
	int			column = -1;

	if (reader->raw)
		column = reader->raw->column;
	else if (rows->in_row && rows->next_column < reader->range->n_attnums)
		column = rows->next_column;
	heap_reader_errcontext(reader->heap, column < 0 ? InvalidAttrNumber :
						   reader->range->attnums[column]);
}

bytea *
chunk_reader_next(ChunkReader *reader)
{
	ErrorContextCallback place = {error_context_stack, add_place, reader};
	bytea	   *value;

	error_context_stack = &place;
	if (reader->raw)
		value = next_raw(reader);
	else
		value = reader->compressor ? next_compressed(reader)
			: next_plain(reader);
	error_context_stack = place.previous;
	return value;
}

void
chunk_reader_count(const ChunkReader *reader, uint64 *rows, uint64 *bytes)
{
	*rows = reader->n_rows;
	*bytes = reader->n_bytes;
}

void
chunk_reader_free(ChunkReader *reader)
{
	heap_reader_free(reader->heap);
	toast_reader_free(reader->toast);
}

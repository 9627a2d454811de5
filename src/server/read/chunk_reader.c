/*-------------------------------------------------------------------------
 *
 * chunk_reader.c
 *	  Reads a chunk: heap tuples to rows of COPY, or to raw tuples, to blocks
 *	  to bytea values.
 *
 * heap_reader.c finds the tuples.  A RowEncoder writes them as COPY does, a
 * RawEncoder nearly as they are stored.  A ChunkReader gathers either into
 * blocks, compresses these, and hands them out one by one.
 *
 * Memory is bounded by a block and the longest value, as COPY writes it and
 * as it is stored: a row may span blocks, and a block with a long value is
 * handed out in several pieces.  Blocks of raw tuples are of whole rows, and
 * each is compressed by itself.
 *
 * Everything is allocated in the context that chunk_reader_new() is called
 * in.  Nothing is freed one by one: chunk_reader_free() releases pins and
 * relations, which belong to resource owners, and the context frees the rest.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/server_compat.h"
#include "bytes/context_compressor.h"
#include "read/chunk_reader.h"
#include "read/raw_block.h"
#include "read/toast_reader.h"
#include "types/choose.h"

/* ----------
 * Encodes heap tuples as rows in a format of COPY.
 *
 * A row's form is that of src/backend/commands/copyto.c:CopyOneRowTo with the
 * default options.  As text: values with tabs between them, \N for NULL, and
 * a newline.  In binary: the number of values, 16 bits, and each value behind
 * its length, 32 bits, which is -1 for NULL; a head before all rows and -1 in
 * place of a number of values behind them.
 * ----------
 */

typedef struct RowEncoder
{
	const HeapRange *range;		/* borrowed, as the next three */
	MemoryContext row_context;	/* reset for every row */
	ToastReader *toast;
	RangeFingerprint *fingerprint;	/* of the rows, or NULL */
	EncodeSettings settings;
	TupleDeformer *deformer;	/* up to the last of the columns */
	ColumnEncoder *encoders;	/* by column */

	/* the row being encoded */
	bool		in_row;
	int			next_column;
} RowEncoder;

/*
 * An encoder of the given attributes, in the given order, under the session's
 * settings of now.  Allocates in CurrentMemoryContext; the relation must stay
 * open.
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
	/* attributes behind the last one that is asked for are not looked at */
	encoder->deformer = tuple_deformer_new(tupdesc, last_attnum);
	return encoder;
}

/* Append what stands before the first row, and behind the last one. */
static void
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

static void
row_encoder_end(RowEncoder *encoder, ByteBuffer *out)
{
	if (encoder->settings.format == ROW_BINARY)
		byte_buffer_commit(out, append_field_count(out, byte_buffer_place(out),
												   -1));
}

/* Detoast here, where buffers are kept, rather than in the encoder. */
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
 * Append the row's values from the next one on, until the buffer holds
 * "limit" bytes.  Members are read once: bytes are written in between, and
 * could be anything to the compiler.  "binary" is a constant in each of the
 * two calls, so that the loop is compiled for each format by itself.
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
 * Append a tuple's row.  Stops between two values, and returns false, once
 * the buffer holds "limit" bytes: call again with the same tuple to go on.
 * True when the row is complete.  A value that passes 1 GB there is an error,
 * and so is damage (ERRCODE_DATA_CORRUPTED).
 */
static bool
row_encode(RowEncoder *encoder, HeapTuple tuple, ByteBuffer *out, Size limit)
{
	MemoryContext old_context = MemoryContextSwitchTo(encoder->row_context);
	bool		text = encoder->settings.format == ROW_TEXT;
	char	   *to = byte_buffer_place(out);

	/*
	 * The values of a row that is continued still point into its tuple, which
	 * stays pinned until heap_reader_next() is called.
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
	/* no value is written in part, so nothing of the row is needed again */
	MemoryContextReset(encoder->row_context);
	return !encoder->in_row;
}

/* ----------
 * Encodes heap tuples as frames of a block of raw tuples (read/raw_block.h).
 *
 * Where the columns are all of the table's, in its order, a tuple's bytes are
 * taken as they are, padding included: the server has made them of zeros
 * (heap_form_tuple), and there is no dropped column whose value could be
 * among them.  Every other tuple is formed again from the values asked for:
 * of a table with dropped columns, of some of the columns or in another
 * order, and one that was written before a column was added.
 * ----------
 */

typedef struct RawEncoder
{
	const HeapRange *range;		/* borrowed, as the next two */
	MemoryContext row_context;	/* reset for every row */
	ToastReader *toast;
	RawBlockHeader header;

	/* the table's tuples */
	bool		all_columns;	/* as they are in the table */
	TupleDeformer *deformer;	/* of all attributes */

	/* the rows */
	TupleDesc	row_desc;
	TupleDeformer *row_deformer;	/* values by column */

	/* the row being encoded */
	HeapTuple	row;			/* the table's tuple, or a new one */
	int			n_external;
	int		   *external;		/* columns */
	int			column;			/* whose value is looked at, or -1 */
} RawEncoder;

static void
raw_row_too_long(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("row is too long for raw format"),
			 errhint("Read the table in another format.")));
}

/*
 * An encoder of the given attributes, in the given order.  Raises an error if
 * values of one of them cannot be taken as they are stored.  Allocates in
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
 * Is the tuple that of the row, to the byte?  "used" is what tuple_deform()
 * returned.
 *
 * The tuple must have all attributes of the table, which has to have no
 * others, and nothing behind the last value.  Its header must have the length
 * that heap_form_tuple() gives it, since a frame does not say where the
 * values begin: the reader of the block computes that.
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
 * A new tuple of the columns' values.  heap_form_tuple() copies compressed
 * values and pointers to values out of line as they are.
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
 * Find the values out of line, and keep their pointers: what they take in the
 * frame.
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
		/* a pointer that is damaged is an error, with this column's name */
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
 * Look at a tuple, which must stay where it is until it is appended: how many
 * bytes its frame can take at most.  Damage is an error (XX001), also one
 * that is met in the TOAST table, and so is a row of 1 GB (54000).
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

		/*
		 * the pointers out of line are found by their place in the new tuple
		 */
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
 * Append the tuple, its pointers set to zero, so that they are never
 * followed: they would mean another value, or none, on the server that loads
 * the block.
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
 * Append zeros up to the next aligned place, counted from the first frame.
 * The loader reads values where they are, and a block is aligned there.
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
 * Append the frame of the tuple taken last.  The first frame of a block
 * begins at "start" in the buffer.
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
 * Reads a chunk: heap tuples to rows of COPY to blocks to bytea values.
 * ----------
 */

/* Rows are gathered, and compressed output handed out, at about this size. */
#define BLOCK_BYTES ((Size) 1024 * 1024)

/* Buffers begin small: most tables are, and fresh pages cost time. */
#define FIRST_BYTES ((Size) 32 * 1024)

/* Longer blocks of rows are handed out in pieces. */
#define PIECE_BYTES ((Size) 16 * 1024 * 1024)

/*
 * Where blocks are chosen, a block is compressed if a sample of this size
 * becomes smaller by this factor.  By lz4, within a machine, one of rows of
 * pgbench_accounts saves 17 % of a copy's CPU; one of a log, which becomes
 * half as long, costs 24 % more.
 */
#define SAMPLE_BYTES ((Size) 16 * 1024)
#define LEAST_RATIO 4

/*
 * Longer blocks of rows are compressed in pieces, so that cancel requests are
 * heard: the highest levels take a second for a piece.
 */
#define COMPRESS_BYTES (2 * BLOCK_BYTES)

struct ChunkReader
{
	const HeapRange *range;		/* borrowed */
	HeapReader *heap;
	ToastReader *toast;
	RowEncoder *rows;			/* NULL for raw tuples */
	RawEncoder *raw;			/* NULL for all else */
	HeapTuple	tuple;			/* whose row is not complete, or NULL */
	Size		raw_bytes;		/* what it takes in a raw block, at most */
	bool		at_end;			/* no more rows */
	uint64		n_rows;			/* encoded so far */
	uint64		n_bytes;

	/* Buffers begin with the header of the bytea that they become. */
	ByteBuffer	block;			/* of rows */
	Size		block_start;	/* handed out up to here */
	ChunkFormat format;
	BlockCompressor *compressor;	/* NULL for none */
	ByteBuffer	out;
};

/*
 * Nothing is pinned, and no TOAST table opened, before the first
 * chunk_reader_next(): if an error is raised here, all is memory of the
 * context.
 */
ChunkReader *
chunk_reader_new(const HeapRange *range, Snapshot snapshot,
				 const ChunkFormat *format, RangeFingerprint *fingerprint)
{
	ChunkReader *reader = palloc0(sizeof(ChunkReader));
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext,
													  "pg_pardump row",
													  ALLOCSET_DEFAULT_SIZES);

	/*
	 * pages stay pinned between two calls, which a rollback cannot wait for
	 */
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
		/* the head is the first block */
		reader->rows = row_encoder_new(range, format->format, row_context,
									   reader->toast);
		reader->rows->fingerprint = fingerprint;
		row_encoder_begin(reader->rows, &reader->block);
	}
	reader->n_bytes = reader->block.len - VARHDRSZ;
	return reader;
}

/*
 * Make a buffer empty, behind the header of the bytea that it becomes.  The
 * space of a long value is not kept: a cursor may be open for long.
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

/* Replace the block by the next one; empty at the end of the chunk. */
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

/* Rows as they are: mostly in place, long blocks in pieces. */
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
	 * The piece's header takes the place of bytes already handed out.  Pieces
	 * but the last have PIECE_BYTES, so that each header is aligned.
	 */
	piece = block->data + reader->block_start - VARHDRSZ;
	left = Min(left, PIECE_BYTES);
	SET_VARSIZE(piece, left + VARHDRSZ);
	reader->block_start += left;
	return (bytea *) piece;
}

/* Fetch what the compressor has; true if it may have more than a block. */
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
 * The next value of a compressed stream.  Blocks are fed to the compressor
 * until it has a block's size of output, or the stream has ended; so values
 * have about the same size however well rows compress.
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
				break;			/* the stream has been ended and fetched */
			next_block(reader);
		}

		/*
		 * Hand the next piece of the block to the compressor, whose stream
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

/* Gather rows behind the place of a header: how many. */
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
		/* the one that does not fit begins the next block */
		if (n_rows > 0 &&
			block->len + reader->raw_bytes > RAW_BLOCK_BYTES + start)
			return n_rows;
		raw_encoder_append(reader->raw, block, start);
		reader->tuple = NULL;
		n_rows++;
	}
}

/* Compress the rows of the block, from behind its header to "end". */
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
 * Is the block, made but for its header, to be compressed?  If blocks are
 * chosen, compress a sample from its beginning to find out.
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
 * The next block of raw tuples.  Its header is written last, since it has
 * the lengths of the rest.
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
 * Tell with any error where it was met: in which row, and in which column if
 * one is being encoded, or its value being fetched.
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

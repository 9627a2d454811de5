/*-------------------------------------------------------------------------
 *
 * chunk_reader.c
 *	  Reads a chunk: heap tuples to lines of text to blocks to bytea values.
 *
 * Memory is bounded by a block and the longest value, as text and as stored:
 * a row may span blocks, and a block with a long value is handed out in
 * several pieces.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "shared/block_compress.h"

#include "chunk_reader.h"
#include "heap_reader.h"
#include "row_encoder.h"

/* Text is gathered, and compressed output handed out, at about this size. */
#define BLOCK_BYTES ((Size) 1024 * 1024)

/* Buffers begin small: most tables are, and fresh pages cost time. */
#define FIRST_BYTES ((Size) 32 * 1024)

/* Longer blocks of text are handed out in pieces. */
#define PIECE_BYTES ((Size) 16 * 1024 * 1024)

/*
 * Longer blocks of text are compressed in pieces, for the sake of cancel
 * requests: the highest levels take a second for so much.
 */
#define COMPRESS_BYTES (2 * BLOCK_BYTES)

struct ChunkReader
{
	Relation	rel;			/* borrowed */
	HeapReader *heap;
	RowEncoder *rows;
	HeapTuple	tuple;			/* whose line is not complete, or NULL */
	bool		at_end;			/* no more rows */
	uint64		n_rows;			/* encoded so far */
	uint64		text_bytes;

	/* Buffers begin with the header of the bytea that they become. */
	ByteBuffer	text;
	Size		text_start;		/* of text: handed out up to here */
	BlockCompressor *compressor;	/* NULL for none */
	ByteBuffer	out;
	MemoryContextCallback free_compressor;
};

static void
free_compressor(void *arg)
{
	ChunkReader *reader = arg;

	if (reader->compressor)
		block_compressor_free(reader->compressor);
	reader->compressor = NULL;
}

/* The compressor's memory is malloc()ed: it goes when our context goes. */
static void
init_compressor(ChunkReader *reader, const CompressSpec *compress)
{
	reader->free_compressor.func = free_compressor;
	reader->free_compressor.arg = reader;
	MemoryContextRegisterResetCallback(CurrentMemoryContext,
									   &reader->free_compressor);
	reader->compressor = block_compressor_new(compress);
	if (reader->compressor == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not initialize compression with \"%s\"",
						compress_method_name(compress->method))));
	byte_buffer_init(&reader->out, FIRST_BYTES);
}

ChunkReader *
chunk_reader_new(Relation rel, Snapshot snapshot, const AttrNumber *attnums,
				 int n_attnums, BlockNumber start, BlockNumber end,
				 const CompressSpec *compress)
{
	ChunkReader *reader = palloc0(sizeof(ChunkReader));

	reader->rel = rel;
	if (compress->method != COMPRESS_NONE)
		init_compressor(reader, compress);
	byte_buffer_init(&reader->text, FIRST_BYTES);
	reader->text.len = reader->text_start = VARHDRSZ;
	reader->rows = row_encoder_new(rel, attnums, n_attnums);
	reader->heap = heap_reader_new(rel, snapshot, start, end);
	return reader;
}

/* Replace the text by the next block of it; empty at the end of the chunk. */
static void
next_text(ChunkReader *reader)
{
	ByteBuffer *text = &reader->text;

	/* a long value's space is not kept */
	if (text->size > 2 * PIECE_BYTES)
	{
		text->data = repalloc_huge(text->data, 2 * BLOCK_BYTES);
		text->size = 2 * BLOCK_BYTES;
	}
	text->len = reader->text_start = VARHDRSZ;
	while (text->len < BLOCK_BYTES && !reader->at_end)
	{
		if (reader->tuple == NULL)
			reader->tuple = heap_reader_next(reader->heap);
		if (reader->tuple == NULL)
			reader->at_end = true;
		else if (row_encode(reader->rows, reader->tuple, text, BLOCK_BYTES))
		{
			reader->tuple = NULL;
			reader->n_rows++;
		}
	}
	reader->text_bytes += text->len - VARHDRSZ;
}

static bytea *
as_bytea(ByteBuffer *buf)
{
	SET_VARSIZE(buf->data, buf->len);
	return (bytea *) buf->data;
}

/* Text as it is: mostly in place, long blocks in pieces. */
static bytea *
next_plain(ChunkReader *reader)
{
	ByteBuffer *text = &reader->text;
	Size		left;
	char	   *piece;

	if (reader->text_start == text->len)
		next_text(reader);
	left = text->len - reader->text_start;
	if (left == 0)
		return NULL;
	if (reader->text_start == VARHDRSZ && left <= PIECE_BYTES)
	{
		reader->text_start = text->len;
		return as_bytea(text);
	}

	/* the piece's header takes the place of bytes already handed out */
	piece = text->data + reader->text_start - VARHDRSZ;
	left = Min(left, PIECE_BYTES);
	SET_VARSIZE(piece, left + VARHDRSZ);
	reader->text_start += left;
	return (bytea *) piece;
}

/* Fetch what the compressor has; true if that makes a value. */
static bool
fetch_compressed(ChunkReader *reader)
{
	ByteBuffer *out = &reader->out;
	Size		need = block_compressor_out_bytes(reader->compressor);
	ssize_t		made = 0;

	while (out->len < BLOCK_BYTES &&
		   (made = block_compressor_fetch(reader->compressor,
										  byte_buffer_reserve(out, need))) > 0)
	{
		out->len += made;
		CHECK_FOR_INTERRUPTS();
	}
	if (made < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compress data: %s",
						block_compressor_error(reader->compressor))));
	return out->len >= BLOCK_BYTES;
}

/* Hand the next piece of the text to the compressor. */
static void
feed_compressor(ChunkReader *reader)
{
	Size		left = reader->text.len - reader->text_start;
	Size		piece = Min(left, COMPRESS_BYTES);

	CHECK_FOR_INTERRUPTS();
	block_compressor_feed(reader->compressor,
						  reader->text.data + reader->text_start, piece,
						  reader->at_end && piece == left);
	reader->text_start += piece;
}

static bytea *
next_compressed(ChunkReader *reader)
{
	reader->out.len = VARHDRSZ;
	while (!fetch_compressed(reader))
	{
		if (reader->text_start == reader->text.len)
		{
			if (reader->at_end)
				break;			/* the stream has been ended and fetched */
			next_text(reader);
		}
		feed_compressor(reader);
	}
	return reader->out.len > VARHDRSZ ? as_bytea(&reader->out) : NULL;
}

/* Tell with any error where it was met. */
static void
add_place(void *arg)
{
	ChunkReader *reader = arg;

	if (reader->tuple)
		errcontext("row at ctid (%u,%u) of table \"%s\"",
				   ItemPointerGetBlockNumber(&reader->tuple->t_self),
				   ItemPointerGetOffsetNumber(&reader->tuple->t_self),
				   RelationGetRelationName(reader->rel));
	else
		errcontext("reading table \"%s\"",
				   RelationGetRelationName(reader->rel));
}

bytea *
chunk_reader_next(ChunkReader *reader)
{
	ErrorContextCallback place = {error_context_stack, add_place, reader};
	bytea	   *value;

	error_context_stack = &place;
	value = reader->compressor ? next_compressed(reader) : next_plain(reader);
	error_context_stack = place.previous;
	return value;
}

void
chunk_reader_count(const ChunkReader *reader, uint64 *rows, uint64 *bytes)
{
	*rows = reader->n_rows;
	*bytes = reader->text_bytes;
}

void
chunk_reader_free(ChunkReader *reader)
{
	heap_reader_free(reader->heap);
	row_encoder_free(reader->rows);
	free_compressor(reader);	/* its callback then finds nothing to do */
	pfree(reader->text.data);
	if (reader->out.data)
		pfree(reader->out.data);
}

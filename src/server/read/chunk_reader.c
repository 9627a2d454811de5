/*-------------------------------------------------------------------------
 *
 * chunk_reader.c
 *	  Reads a chunk: heap tuples to rows of COPY to blocks to bytea values.
 *
 * Memory is bounded by a block and the longest value, as COPY writes it and
 * as it is stored: a row may span blocks, and a block with a long value is
 * handed out in several pieces.  Blocks of raw tuples are of whole rows, and
 * each is compressed by itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "bytes/context_compressor.h"
#include "heap/heap_reader.h"
#include "raw/raw_block.h"
#include "read/chunk_reader.h"
#include "read/raw_encoder.h"
#include "read/row_encoder.h"

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
 * Longer blocks of rows are compressed in pieces, for the sake of cancel
 * requests: the highest levels take a second for so much.
 */
#define COMPRESS_BYTES (2 * BLOCK_BYTES)

struct ChunkReader
{
	Relation	rel;			/* borrowed */
	HeapReader *heap;
	RowEncoder *rows;			/* NULL for raw tuples */
	RawEncoder *raw;			/* NULL for all else */
	RangeFingerprint *fingerprint;	/* borrowed, or NULL */
	HeapTuple	tuple;			/* whose row is not complete, or NULL */
	Size		raw_bytes;		/* what it takes in a raw block, at most */
	bool		at_end;			/* no more rows */
	uint64		n_rows;			/* encoded so far */
	uint64		n_bytes;

	/* Buffers begin with the header of the bytea that they become. */
	ByteBuffer	block;			/* of rows */
	Size		block_start;	/* handed out up to here */
	CompressMethod compression;
	BlockCompressor *compressor;	/* NULL for none */
	bool		chooses_blocks; /* to be compressed */
	ByteBuffer	out;
};

ChunkReader *
chunk_reader_new(Relation rel, Snapshot snapshot, const AttrNumber *attnums,
				 int n_attnums, BlockNumber start, BlockNumber end,
				 RowFormat format, const CompressSpec *compress)
{
	ChunkReader *reader = palloc0(sizeof(ChunkReader));

	heap_check_lasts(rel);
	reader->rel = rel;
	reader->compression = compress->method;
	if (compress->method != COMPRESS_NONE)
	{
		reader->compressor = context_compressor_new(compress);
		byte_buffer_init(&reader->out, FIRST_BYTES);
	}
	byte_buffer_init(&reader->block, FIRST_BYTES);
	reader->heap = heap_reader_new(rel, snapshot, start, end);
	reader->block.len = reader->block_start = VARHDRSZ;
	if (format == ROW_RAW)
		reader->raw = raw_encoder_new(rel, attnums, n_attnums);
	else
	{
		/* the head is the first block */
		reader->rows = row_encoder_new(rel, attnums, n_attnums, format);
		row_encoder_begin(reader->rows, &reader->block);
	}
	reader->n_bytes = reader->block.len - VARHDRSZ;
	return reader;
}

void
chunk_reader_choose_blocks(ChunkReader *reader)
{
	reader->chooses_blocks = true;
}

static void
add_to_fingerprint(void *fingerprint, const struct varlena *stored)
{
	range_fingerprint_add_value(fingerprint, stored);
}

void
chunk_reader_fingerprint(ChunkReader *reader, RangeFingerprint *fingerprint)
{
	reader->fingerprint = fingerprint;
	row_encoder_watch(reader->rows, add_to_fingerprint, fingerprint);
}

/* Make a buffer empty; a long value's space is not kept. */
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

/* The next row's; NULL at the end of the chunk. */
static HeapTuple
next_tuple(ChunkReader *reader)
{
	HeapTuple	tuple = heap_reader_next(reader->heap);

	if (tuple && reader->fingerprint)
		range_fingerprint_add_tuple(reader->fingerprint, tuple);
	return tuple;
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
			reader->tuple = next_tuple(reader);
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

	/* the piece's header takes the place of bytes already handed out */
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
 * Hand the next piece of the block to the compressor, whose stream ends with
 * the last block.
 */
static void
feed_compressor(ChunkReader *reader)
{
	Size		left = reader->block.len - reader->block_start;
	Size		piece = Min(left, COMPRESS_BYTES);

	CHECK_FOR_INTERRUPTS();
	block_compressor_feed(reader->compressor,
						  reader->block.data + reader->block_start, piece,
						  reader->at_end && piece == left);
	reader->block_start += piece;
}

static bytea *
next_compressed(ChunkReader *reader)
{
	reader->out.len = VARHDRSZ;
	while (!fetch_compressed(reader))
	{
		if (reader->block_start == reader->block.len)
		{
			if (reader->at_end)
				break;			/* the stream has been ended and fetched */
			next_block(reader);
		}
		feed_compressor(reader);
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

/* Is the block, made but for its header, to be compressed? */
static bool
is_compressed(ChunkReader *reader)
{
	Size		start = VARHDRSZ + sizeof(RawBlockHeader);
	Size		sample = Min(reader->block.len - start, SAMPLE_BYTES);

	if (reader->compressor == NULL || !reader->chooses_blocks)
		return reader->compressor != NULL;
	compress_raw_rows(reader, start + sample);
	return (reader->out.len - start) * LEAST_RATIO <= sample;
}

static bytea *
next_raw(ChunkReader *reader)
{
	ByteBuffer *made = &reader->block;
	RawBlockHeader header = *raw_encoder_header(reader->raw);

	header.n_rows = next_raw_rows(reader);
	if (header.n_rows == 0)
		return NULL;
	header.frame_bytes = reader->block.len - VARHDRSZ - sizeof(header);
	header.compression = COMPRESS_NONE;
	if (is_compressed(reader))
	{
		header.compression = reader->compression;
		compress_raw_rows(reader, reader->block.len);
		made = &reader->out;
	}
	if (made->len > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too long for raw format"),
				 errhint("Read the table in another format.")));
	header.stored_bytes = made->len - VARHDRSZ - sizeof(header);
	memcpy(made->data + VARHDRSZ, &header, sizeof(header));
	reader->n_rows += header.n_rows;
	reader->n_bytes += header.frame_bytes;
	return as_bytea(made);
}

/* Tell with any error where it was met. */
static void
add_place(void *arg)
{
	ChunkReader *reader = arg;

	const ItemPointerData *place = heap_reader_place(reader->heap);

	if (place)
		heap_row_errcontext(reader->rel, place,
							reader->raw ? raw_encoder_column(reader->raw)
							: row_encoder_column(reader->rows));
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
	if (reader->rows)
		row_encoder_free(reader->rows);
	if (reader->raw)
		raw_encoder_free(reader->raw);
	pfree(reader->block.data);
	if (reader->out.data)
		pfree(reader->out.data);
}

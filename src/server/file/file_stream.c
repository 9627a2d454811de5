/*-------------------------------------------------------------------------
 *
 * file_stream.c
 *	  A piece of a base backup: ranges of files, and what a tar archive has
 *	  around them, as one frame.
 *
 * Nothing of the piece is gathered: a step of a range goes through the
 * compressor while it is in the processor's caches, and on to the client.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "utils/memutils.h"

#include "bytes/context_compressor.h"
#include "file/file_stream.h"

/* Rows of this size, where nothing is compressed. */
#define ROW_BYTES (128 * 1024)

/* What comes next of an item. */
typedef enum StreamState
{
	STREAM_BEGIN,
	STREAM_HEADER,
	STREAM_RANGE,
	STREAM_PADDING
} StreamState;

struct FileStream
{
	const FileStreamItem *items;
	int			n_items;
	int			item;
	StreamState state;
	FileRangeReader *reader;
	FileStreamResult result;
	const char *part;			/* of an item, not yet taken: */
	size_t		part_len;
	char	   *zeros;
	size_t		max_zeros;
	BlockCompressor *compressor;	/* NULL for none */
	bool		fed_last;
	bytea	   *row;
};

static void
note_failure(void *arg, const PageFailure *failure)
{
	FileStream *stream = arg;
	FileStreamResult *result = &stream->result;

	if (result->n_failures == result->max_failures)
	{
		result->max_failures *= 2;
		result->failures = repalloc(result->failures,
									result->max_failures * sizeof(FileStreamFailure));
	}
	result->failures[result->n_failures].item = stream->item;
	result->failures[result->n_failures++].page = *failure;
}

FileStream *
file_stream_new(const FileStreamItem *items, int n_items,
				XLogRecPtr start_lsn, const CompressSpec *compress)
{
	FileStream *stream = palloc0(sizeof(FileStream));
	size_t		room = ROW_BYTES;

	stream->items = items;
	stream->n_items = n_items;
	stream->reader = file_range_reader_new(start_lsn, note_failure, stream);
	stream->result.ranges = palloc0((n_items + 1) * sizeof(FileRangeResult));
	stream->result.max_failures = 8;
	stream->result.failures = palloc(stream->result.max_failures *
									 sizeof(FileStreamFailure));
	for (int i = 0; i < n_items; i++)
		stream->max_zeros = Max(stream->max_zeros, (size_t) items[i].padding);
	stream->zeros = palloc0(stream->max_zeros + 1);
	if (compress->method != COMPRESS_NONE)
	{
		stream->compressor = context_compressor_new(compress);
		room = block_compressor_out_bytes(stream->compressor);
	}
	stream->row = palloc(VARHDRSZ + room);
	return stream;
}

/* Begin an item; false if it is left out. */
static bool
begin_item(FileStream *stream, const FileStreamItem *item)
{
	if (item->range.path == NULL ||
		file_range_begin(stream->reader, &item->range) || item->required)
		return true;
	file_range_result(stream->reader, &stream->result.ranges[stream->item]);
	return false;
}

/* The next bytes of a range; none at its end. */
static void
next_of_range(FileStream *stream, const FileStreamItem *item)
{
	if (item->range.path == NULL)
		return;
	stream->part_len = file_range_next(stream->reader, &stream->part);
	if (stream->part_len == 0)
		file_range_result(stream->reader, &stream->result.ranges[stream->item]);
}

/* The next bytes of the piece, to be taken; false at its end. */
static bool
next_part(FileStream *stream)
{
	stream->part_len = 0;
	while (stream->part_len == 0 && stream->item < stream->n_items)
	{
		const FileStreamItem *item = &stream->items[stream->item];

		switch (stream->state)
		{
			case STREAM_BEGIN:
				if (begin_item(stream, item))
					stream->state = STREAM_HEADER;
				else
					stream->item++;
				break;
			case STREAM_HEADER:
				stream->part = item->header;
				stream->part_len = item->header_len;
				stream->state = STREAM_RANGE;
				break;
			case STREAM_RANGE:
				next_of_range(stream, item);
				if (stream->part_len == 0)
					stream->state = STREAM_PADDING;
				break;
			case STREAM_PADDING:
				stream->part = stream->zeros;
				stream->part_len = item->padding;
				stream->state = STREAM_BEGIN;
				stream->item++;
				break;
		}
	}
	return stream->part_len > 0;
}

/* A row of the bytes as they are; returns its length. */
static size_t
fill_row(FileStream *stream)
{
	size_t		len = 0;

	while (len < ROW_BYTES && (stream->part_len > 0 || next_part(stream)))
	{
		size_t		taken = Min(stream->part_len, ROW_BYTES - len);

		memcpy(VARDATA(stream->row) + len, stream->part, taken);
		stream->part += taken;
		stream->part_len -= taken;
		len += taken;
	}
	return len;
}

/* A row of what the compressor makes of them; returns its length. */
static size_t
compress_row(FileStream *stream)
{
	BlockCompressor *compressor = stream->compressor;
	Size		made;

	while ((made = context_compressor_fetch(compressor, VARDATA(stream->row))) == 0 &&
		   !stream->fed_last)
	{
		stream->fed_last = !next_part(stream);
		block_compressor_feed(compressor, stream->part, stream->part_len,
							  stream->fed_last);
	}
	return made;
}

bytea *
file_stream_next(FileStream *stream)
{
	size_t		len = stream->compressor ? compress_row(stream) :
		fill_row(stream);

	SET_VARSIZE(stream->row, VARHDRSZ + len);
	return len > 0 ? stream->row : NULL;
}

const FileStreamResult *
file_stream_result(const FileStream *stream)
{
	return &stream->result;
}

void
file_stream_free(FileStream *stream)
{
	file_range_close(stream->reader);
}

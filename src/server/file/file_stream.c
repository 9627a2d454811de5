/*-------------------------------------------------------------------------
 *
 * file_stream.c
 *	  A piece of a base backup: ranges of files, and what a tar archive has
 *	  around them, as one frame.
 *
 * A piece that is not compressed goes to the client row by row.  One that is
 * has to lie in one place: zstd takes a fifth less CPU time for a buffer than
 * for a stream (shared/block_compress.c).
 *
 * Between calls a stream holds memory only: palloc()ed, and the compressor's,
 * which is malloc()ed and freed by a callback of the memory context
 * (bytes/context_compressor.c).  file_range.c says who owns the file.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "utils/memutils.h"

#include "bytes/context_compressor.h"
#include "file/file_stream.h"

/* Rows of this size, or a little less. */
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
	size_t		n_done;			/* bytes of the header or the padding */
	bytea	   *row;
	BlockCompressor *compressor;	/* NULL for none */
	size_t		piece_bytes;	/* at most; if it is compressed */
	char	   *frame;			/* of all of it; NULL = not yet made */
	size_t		frame_len;
	size_t		frame_pos;		/* handed out up to here */
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

/* How long the piece is at most, which must not be too long. */
static size_t
piece_bytes(const FileStreamItem *items, int n_items)
{
	const size_t limit = FILE_STREAM_COMPRESSED_BYTES;
	size_t		bytes = 0;

	for (int i = 0; i < n_items && bytes <= limit; i++)
		bytes += items[i].header_len + Min(items[i].range.length, limit + 1) +
			items[i].padding;
	if (bytes > limit)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("more than %zu bytes cannot be compressed into one frame",
						limit)));
	return bytes;
}

FileStream *
file_stream_new(const FileStreamItem *items, int n_items,
				XLogRecPtr start_lsn, const CompressSpec *compress)
{
	FileStream *stream = palloc0(sizeof(FileStream));

	stream->items = items;
	stream->n_items = n_items;
	stream->reader = file_range_reader_new(start_lsn, note_failure, stream);
	stream->result.ranges = palloc0((n_items + 1) * sizeof(FileRangeResult));
	stream->result.max_failures = 8;
	stream->result.failures = palloc(stream->result.max_failures *
									 sizeof(FileStreamFailure));
	if (compress->method != COMPRESS_NONE)
	{
		stream->piece_bytes = piece_bytes(items, n_items);
		stream->compressor = context_compressor_new(compress);
		if (!block_compressor_add_checksums(stream->compressor))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not initialize compression with \"%s\"",
							compress_method_name(compress->method))));
	}
	stream->row = palloc(VARHDRSZ + ROW_BYTES);
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

/*
 * Write as much of the item's header, or of its padding (NULL: zeros), of
 * "len" bytes, as there is room for; true once all of it is written.
 */
static bool
fill_around(FileStream *stream, const char *data, size_t len, char *to,
			size_t room, size_t *written)
{
	size_t		part = Min(len - stream->n_done, room);

	if (data)
		memcpy(to, data + stream->n_done, part);
	else
		memset(to, 0, part);
	stream->n_done += part;
	*written = part;
	if (stream->n_done < len)
		return false;
	stream->n_done = 0;
	return true;
}

/* The same of its range. */
static bool
fill_range(FileStream *stream, const FileStreamItem *item, char *to,
		   size_t room, size_t *written)
{
	if (item->range.path == NULL)
		return true;
	if (file_range_left(stream->reader) > 0)
		*written = file_range_next(stream->reader, to, room);
	if (file_range_left(stream->reader) > 0)
		return false;
	file_range_result(stream->reader, &stream->result.ranges[stream->item]);
	file_range_suspend(stream->reader);
	return true;
}

/* The same for the part of the item that comes next. */
static bool
fill_part(FileStream *stream, const FileStreamItem *item, char *to,
		  size_t room, size_t *written)
{
	switch (stream->state)
	{
		case STREAM_BEGIN:
			break;
		case STREAM_HEADER:
			return fill_around(stream, item->header, item->header_len, to,
							   room, written);
		case STREAM_RANGE:
			return fill_range(stream, item, to, room, written);
		case STREAM_PADDING:
			return fill_around(stream, NULL, item->padding, to, room,
							   written);
	}
	return true;
}

static void
next_state(FileStream *stream)
{
	if (stream->state++ == STREAM_PADDING)
	{
		stream->state = STREAM_BEGIN;
		stream->item++;
	}
}

/*
 * The next bytes of the piece, up to this room, of which less than a page may
 * be left; none at the piece's end.
 */
static size_t
fill(FileStream *stream, char *to, size_t room)
{
	size_t		len = 0;

	while (stream->item < stream->n_items)
	{
		const FileStreamItem *item = &stream->items[stream->item];
		size_t		written = 0;

		if (stream->state == STREAM_BEGIN && !begin_item(stream, item))
			stream->item++;
		else if (fill_part(stream, item, to + len, room - len, &written))
			next_state(stream);
		else if (written == 0)
			break;
		len += written;
	}
	return len;
}

/* All of the piece as one frame. */
static void
make_frame(FileStream *stream)
{
	char	   *piece = palloc(stream->piece_bytes + 1);
	size_t		len = fill(stream, piece, stream->piece_bytes);

	stream->frame = palloc(block_compressor_bound(stream->compressor, len));
	stream->frame_len = context_compressor_whole(stream->compressor, piece,
												 len, stream->frame);
	pfree(piece);
}

/* A row of the frame; returns its length. */
static size_t
fill_compressed(FileStream *stream)
{
	size_t		len;

	if (stream->frame == NULL)
		make_frame(stream);
	len = Min(stream->frame_len - stream->frame_pos, ROW_BYTES);
	memcpy(VARDATA(stream->row), stream->frame + stream->frame_pos, len);
	stream->frame_pos += len;
	return len;
}

bytea *
file_stream_next(FileStream *stream)
{
	size_t		len = stream->compressor ? fill_compressed(stream) :
		fill(stream, VARDATA(stream->row), ROW_BYTES);

	file_range_suspend(stream->reader);
	SET_VARSIZE(stream->row, VARHDRSZ + len);
	return len > 0 ? stream->row : NULL;
}

const FileStreamResult *
file_stream_result(const FileStream *stream)
{
	return &stream->result;
}

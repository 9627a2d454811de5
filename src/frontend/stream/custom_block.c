/*
 * custom_block.c
 *		Reads the blocks of an archive file in the custom format.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "stream/custom_block.h"

/*
 * Pieces are as small as a row: a search through them all reads the file,
 * rather than to seek for each.  Of larger ones it leaves out what is not in
 * the buffer.
 */
#define BUFFER_BYTES (128 * 1024)

struct CustomBlocks
{
	int			fd;
	char	   *buffer;
	size_t		start;			/* what is in it and not yet taken */
	size_t		end;
	uint64		offset;			/* in the file, of buffer + end */
	uint64		piece_left;		/* of the piece that is being read */
	bool		in_stream;		/* and of its stream: more pieces follow */
	const char *error;
};

CustomBlocks *
custom_block_new(int fd)
{
	CustomBlocks *reader = pg_malloc0(sizeof(CustomBlocks));

	reader->fd = fd;
	reader->buffer = pg_malloc(BUFFER_BYTES);
	return reader;
}

void
custom_block_free(CustomBlocks *reader)
{
	free(reader->buffer);
	free(reader);
}

void
custom_block_seek(CustomBlocks *reader, uint64 offset)
{
	reader->start = reader->end = 0;
	reader->offset = offset;
	reader->piece_left = 0;
	reader->in_stream = false;
	reader->error = NULL;
}

uint64
custom_block_position(const CustomBlocks *reader)
{
	return reader->offset - (reader->end - reader->start);
}

const char *
custom_block_error(const CustomBlocks *reader)
{
	return reader->error;
}

/* ----------
 * Bytes
 * ----------
 */

/* Something in the buffer; false at the end of the file, or with an error. */
static bool
fill(CustomBlocks *reader)
{
	ssize_t		got;

	if (reader->error)
		return false;
	if (reader->start < reader->end)
		return true;
	do
		got = pread(reader->fd, reader->buffer, BUFFER_BYTES,
					(off_t) reader->offset);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		reader->error = strerror(errno);
	if (got <= 0)
		return false;
	reader->start = 0;
	reader->end = got;
	reader->offset += got;
	return true;
}

size_t
custom_block_raw(CustomBlocks *reader, void *buf, size_t len)
{
	size_t		done = 0;

	while (done < len && fill(reader))
	{
		size_t		part = Min(len - done, reader->end - reader->start);

		memcpy((char *) buf + done, reader->buffer + reader->start, part);
		reader->start += part;
		done += part;
	}
	return done;
}

static void
fail(CustomBlocks *reader, const char *what)
{
	if (reader->error == NULL)
		reader->error = what;
}

/* A number that cannot be negative: 0, and an error, if it is. */
static uint32
read_number(CustomBlocks *reader)
{
	unsigned char bytes[5];

	if (custom_block_raw(reader, bytes, sizeof(bytes)) != sizeof(bytes))
		fail(reader, "unexpected end of file");
	else if (bytes[0] != 0)
		fail(reader, "invalid number");
	if (reader->error)
		return 0;
	return bytes[1] | (uint32) bytes[2] << 8 | (uint32) bytes[3] << 16 |
		(uint32) bytes[4] << 24;
}

/* ----------
 * Blocks
 * ----------
 */
bool
custom_block_begin(CustomBlocks *reader, CustomBlockType *type, int *dump_id)
{
	unsigned char byte;
	uint32		id;

	if (custom_block_raw(reader, &byte, 1) != 1)
		return false;
	id = read_number(reader);
	*type = (CustomBlockType) byte;
	*dump_id = (int) id;
	if (byte != CUSTOM_BLOCK_ROWS && byte != CUSTOM_BLOCK_OBJECTS)
		fail(reader, "unknown kind of data block");
	else if (id < 1 || id > PG_INT32_MAX)
		fail(reader, "invalid dump ID");
	reader->in_stream = byte == CUSTOM_BLOCK_ROWS;
	return reader->error == NULL;
}

/* OIDs from 2^31 on are written as the negative numbers that ints make. */
bool
custom_block_object(CustomBlocks *reader, Oid *oid)
{
	unsigned char bytes[5];
	int64		value;

	if (reader->error)
		return false;
	if (custom_block_raw(reader, bytes, sizeof(bytes)) != sizeof(bytes))
	{
		fail(reader, "unexpected end of file");
		return false;
	}
	value = bytes[1] | (uint32) bytes[2] << 8 | (uint32) bytes[3] << 16 |
		(uint32) bytes[4] << 24;
	*oid = (Oid) (bytes[0] ? -value : value);
	reader->in_stream = *oid != InvalidOid;
	return reader->in_stream;
}

/* Within a piece, at its begin or in the middle; false after the last one. */
static bool
in_piece(CustomBlocks *reader)
{
	uint32		len;

	if (reader->piece_left > 0)
		return true;
	if (!reader->in_stream || reader->error)
		return false;
	len = read_number(reader);
	if (len > PG_INT32_MAX)
		fail(reader, "invalid length");
	reader->piece_left = reader->error ? 0 : len;
	reader->in_stream = reader->piece_left > 0;
	return reader->in_stream;
}

ssize_t
custom_block_next(CustomBlocks *reader, const char **data)
{
	size_t		part;

	if (!in_piece(reader))
		return reader->error ? -1 : 0;
	if (!fill(reader))
	{
		fail(reader, "unexpected end of file");
		return -1;
	}
	part = Min(reader->piece_left, reader->end - reader->start);
	*data = reader->buffer + reader->start;
	reader->start += part;
	reader->piece_left -= part;
	return part;
}

bool
custom_block_skip_stream(CustomBlocks *reader)
{
	while (in_piece(reader))
	{
		size_t		there = Min(reader->piece_left, reader->end - reader->start);

		reader->start += there;
		if (reader->piece_left > there)
		{
			/* the end of the file shows when the next length is read */
			reader->start = reader->end = 0;
			reader->offset += reader->piece_left - there;
		}
		reader->piece_left = 0;
	}
	return reader->error == NULL;
}

bool
custom_block_skip(CustomBlocks *reader, CustomBlockType type)
{
	Oid			oid;

	if (type == CUSTOM_BLOCK_ROWS)
		return custom_block_skip_stream(reader);
	while (custom_block_object(reader, &oid))
		if (!custom_block_skip_stream(reader))
			return false;
	return reader->error == NULL;
}

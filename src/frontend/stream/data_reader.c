/*
 * data_reader.c
 *		Reads data of an archive, as they were before compression.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "stream/data_reader.h"
#include "stream/decompress.h"

#define BUFFER_BYTES (128 * 1024)

struct DataReader
{
	CompressMethod method;
	CustomBlocks *blocks;		/* borrowed, or NULL: */
	int			fd;
	char	   *buffer;			/* of a file only */
	Decompressor *decompressor; /* NULL for none */
	const char *rest;			/* not compressed, and did not fit */
	size_t		rest_len;
	uint64		stored_bytes;
	bool		at_end;
	const char *error;
};

static DataReader *
reader_new(CompressMethod method, DecompressForm form)
{
	DataReader *reader = pg_malloc0(sizeof(DataReader));

	reader->method = method;
	reader->fd = -1;
	if (method != COMPRESS_NONE)
		reader->decompressor = decompressor_new(method, form);
	return reader;
}

DataReader *
data_reader_new_file(int fd, CompressMethod method)
{
	DataReader *reader = reader_new(method, DECOMPRESS_FILE);

	reader->fd = fd;
	reader->buffer = pg_malloc(BUFFER_BYTES);
	return reader;
}

DataReader *
data_reader_new_custom(CustomBlocks *blocks, CompressMethod method)
{
	DataReader *reader = reader_new(method, DECOMPRESS_CUSTOM);

	reader->blocks = blocks;
	return reader;
}

void
data_reader_restart(DataReader *reader)
{
	if (reader->decompressor)
		decompressor_reset(reader->decompressor);
	reader->rest_len = 0;
	reader->stored_bytes = 0;
	reader->at_end = false;
	reader->error = NULL;
}

/* The next bytes as they are stored: their number, 0 at the end, or -1. */
static ssize_t
next_stored(DataReader *reader, const char **data)
{
	ssize_t		len;

	if (reader->blocks)
	{
		len = custom_block_next(reader->blocks, data);
		if (len < 0)
			reader->error = custom_block_error(reader->blocks);
	}
	else
	{
		*data = reader->buffer;
		do
			len = read(reader->fd, reader->buffer, BUFFER_BYTES);
		while (len < 0 && errno == EINTR);
		if (len < 0)
			reader->error = strerror(errno);
	}
	if (len > 0)
		reader->stored_bytes += len;
	return len;
}

/*
 * There is nothing more.  Before it has a byte to compress, pg_dump writes no
 * lz4 or zstd frame either: an empty large object is nothing at all.
 */
static void
check_end(DataReader *reader)
{
	bool		nothing = reader->stored_bytes == 0 &&
		reader->method != COMPRESS_GZIP;

	reader->at_end = true;
	if (reader->decompressor && !nothing &&
		!decompressor_complete(reader->decompressor))
		reader->error = "ends within compressed data";
}

static ssize_t
read_plain(DataReader *reader, void *buf, size_t size)
{
	size_t		part;

	if (reader->rest_len == 0)
	{
		ssize_t		len = next_stored(reader, &reader->rest);

		if (len <= 0)
			return len;
		reader->rest_len = len;
	}
	part = Min(size, reader->rest_len);
	memcpy(buf, reader->rest, part);
	reader->rest += part;
	reader->rest_len -= part;
	return part;
}

static ssize_t
read_compressed(DataReader *reader, void *buf, size_t size)
{
	Decompressor *d = reader->decompressor;
	const char *data;
	ssize_t		made;
	ssize_t		len;

	while ((made = decompressor_fetch(d, buf, size)) == 0)
	{
		len = next_stored(reader, &data);
		if (len <= 0)
			return len;
		decompressor_feed(d, data, len);
	}
	if (made < 0)
		reader->error = decompressor_error(d);
	return made;
}

ssize_t
data_reader_read(DataReader *reader, void *buf, size_t size)
{
	ssize_t		len;

	if (reader->error)
		return -1;
	if (reader->at_end)
		return 0;
	len = reader->decompressor ? read_compressed(reader, buf, size) :
		read_plain(reader, buf, size);
	if (len == 0)
		check_end(reader);
	return reader->error ? -1 : len;
}

const char *
data_reader_error(const DataReader *reader)
{
	return reader->error;
}

uint64
data_reader_stored_bytes(const DataReader *reader)
{
	return reader->stored_bytes;
}

void
data_reader_free(DataReader *reader)
{
	if (reader->fd >= 0)
		close(reader->fd);
	if (reader->decompressor)
		decompressor_free(reader->decompressor);
	free(reader->buffer);
	free(reader);
}

/*
 * decompress.c
 *		Implements decompress.h: reads blocks of the custom format,
 *		decompresses with zlib, lz4 and zstd, and reads data of archives with
 *		both.
 */
#include "base/fe_compat.h"

#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

#include "stream/decompress.h"

/* ----------
 * Reads the blocks of an archive file in the custom format.
 * ----------
 */

/*
 * A piece may be as small as a row.  Skipping such pieces reads all of the
 * file, because a seek for each piece would be slower.  Of larger pieces, the
 * bytes behind the buffer are not read.
 */
#define BUFFER_BYTES (128 * 1024)

struct CustomBlocks
{
	int			fd;
	char	   *buffer;
	size_t		start;			/* bytes that were not used yet */
	size_t		end;
	uint64		offset;			/* file offset of buffer + end */
	uint64		piece_left;		/* rest of the current piece */
	bool		in_stream;		/* more pieces of the stream follow */
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
	/* the buffer contains bytes of another place */
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

/*
 * Fill the buffer if it is empty.  Returns false at the end of the file or
 * after an error.
 */
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
decompress_fail(CustomBlocks *reader, const char *what)
{
	if (reader->error == NULL)
		reader->error = what;
}

/*
 * Returns a number, or 0 after an error.  As in toc.dat, a byte for the sign
 * precedes the four bytes of the magnitude, least significant first on every
 * machine (WriteInt of pg_backup_archiver.c).
 */
static int64
read_int(CustomBlocks *reader)
{
	unsigned char bytes[5];
	int64		value;

	if (custom_block_raw(reader, bytes, sizeof(bytes)) != sizeof(bytes))
		decompress_fail(reader, "the file ends unexpectedly");
	if (reader->error)
		return 0;
	value = bytes[1] | (uint32) bytes[2] << 8 | (uint32) bytes[3] << 16 |
		(uint32) bytes[4] << 24;
	return bytes[0] ? -value : value;
}

/* Returns a number that must not be negative, or 0 after an error. */
static uint32
read_number(CustomBlocks *reader)
{
	int64		number = read_int(reader);

	if (number < 0)
		decompress_fail(reader, "invalid number");
	return (uint32) Max(number, 0);
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
		decompress_fail(reader, "unknown kind of data block");
	else if (id < 1 || id > PG_INT32_MAX)
		decompress_fail(reader, "invalid dump ID");
	reader->in_stream = byte == CUSTOM_BLOCK_ROWS;
	return reader->error == NULL;
}

/*
 * OIDs of 2^31 and above are stored as negative numbers, because they are
 * written as ints.
 */
bool
custom_block_object(CustomBlocks *reader, Oid *oid)
{
	*oid = (Oid) read_int(reader);
	reader->in_stream = *oid != InvalidOid;
	return reader->in_stream;
}

/*
 * Is a byte of the stream left?  Reads the length of the next piece if this
 * is needed.  Returns false at the end of the stream or after an error.
 */
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
		decompress_fail(reader, "invalid length");

	/*
	 * A length of 0 ends the stream.  So does an error, so that every loop
	 * over pieces ends.
	 */
	reader->piece_left = reader->error ? 0 : len;
	reader->in_stream = reader->piece_left > 0;
	return reader->in_stream;
}

/*
 * Get some bytes of the stream, which are borrowed until the next call.
 * Returns their number, 0 at the end of the stream, or -1 after an error.
 */
static ssize_t
custom_block_next(CustomBlocks *reader, const char **data)
{
	size_t		part;

	if (!in_piece(reader))
		return reader->error ? -1 : 0;
	if (!fill(reader))
	{
		decompress_fail(reader, "the file ends unexpectedly");
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
			/* the next read notices if this is behind the file's end */
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

/* ----------
 * Decompresses with zlib, lz4 and zstd.
 * ----------
 */

/* zstd's own limit for streams; frames with a larger window are rejected */
#define ZSTD_WINDOW_LOG_MAX 27

/* The functions that call the library of a method. */
typedef struct Codec
{
	bool		(*set_up) (Decompressor *d, DecompressForm form);
	void		(*reset) (Decompressor *d); /* NULL: step() resets */
	void		(*free) (Decompressor *d);

	/*
	 * Call the library once.  It uses up to *in_len bytes of input, and
	 * writes up to *out_len bytes of output.  Both are set to the actual
	 * numbers.  Returns true at the end of a stream.
	 */
	bool		(*step) (Decompressor *d, size_t *in_len, void *out,
						 size_t *out_len);
} Codec;

struct Decompressor
{
	const Codec *codec;
	z_stream	gzip;
	LZ4F_dctx  *lz4;
	ZSTD_DCtx  *zstd;
	const char *in;				/* input that was not used yet */
	size_t		in_len;
	bool		in_stream;		/* in the middle of a stream */
	bool		any_stream;
	const char *error;
};

static bool
gzip_set_up(Decompressor *d, DecompressForm form)
{
	/* 16 is the flag for data with the header and checksum of gzip */
	return inflateInit2(&d->gzip,
						form == DECOMPRESS_FILE ? 15 + 16 : 15) == Z_OK;
}

static void
gzip_free(Decompressor *d)
{
	inflateEnd(&d->gzip);
}

static bool
gzip_step(Decompressor *d, size_t *in_len, void *out, size_t *out_len)
{
	/* zlib counts in 32 bits; the next call gets the rest */
	uInt		in_max = (uInt) Min(*in_len, PG_INT32_MAX);
	uInt		out_max = (uInt) Min(*out_len, PG_INT32_MAX);
	int			rc;

	/*
	 * A file may contain several gzip members: the server writes one for each
	 * block.  zlib stops at the end of each member, unlike lz4 and zstd,
	 * which begin the next frame by themselves.
	 */
	if (!d->in_stream && inflateReset(&d->gzip) != Z_OK)
		d->error = "could not initialize decompression";
	d->gzip.next_in = (Bytef *) unconstify(char *, d->in);
	d->gzip.avail_in = in_max;
	d->gzip.next_out = out;
	d->gzip.avail_out = out_max;
	rc = inflate(&d->gzip, Z_NO_FLUSH);
	*in_len = in_max - d->gzip.avail_in;
	*out_len = out_max - d->gzip.avail_out;
	/* Z_BUF_ERROR: more input is needed */
	if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
		d->error = d->gzip.msg ? d->gzip.msg : "invalid data";
	return rc == Z_STREAM_END;
}

static bool
lz4_set_up(Decompressor *d, DecompressForm form)
{
	return !LZ4F_isError(LZ4F_createDecompressionContext(&d->lz4, LZ4F_VERSION));
}

static void
lz4_reset(Decompressor *d)
{
	LZ4F_resetDecompressionContext(d->lz4);
}

static void
lz4_free(Decompressor *d)
{
	LZ4F_freeDecompressionContext(d->lz4);
}

static bool
lz4_step(Decompressor *d, size_t *in_len, void *out, size_t *out_len)
{
	size_t		rc = LZ4F_decompress(d->lz4, out, out_len, d->in, in_len, NULL);

	/* 0 means that a frame is complete, not only that the input is used up */
	if (LZ4F_isError(rc))
		d->error = LZ4F_getErrorName(rc);
	return rc == 0;
}

static bool
zstd_set_up(Decompressor *d, DecompressForm form)
{
	d->zstd = ZSTD_createDCtx();
	return d->zstd != NULL &&
		!ZSTD_isError(ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax,
											 ZSTD_WINDOW_LOG_MAX));
}

static void
zstd_reset(Decompressor *d)
{
	ZSTD_DCtx_reset(d->zstd, ZSTD_reset_session_only);
}

static void
zstd_free(Decompressor *d)
{
	ZSTD_freeDCtx(d->zstd);
}

static bool
zstd_step(Decompressor *d, size_t *in_len, void *out, size_t *out_len)
{
	ZSTD_inBuffer in = {d->in, *in_len, 0};
	ZSTD_outBuffer made = {out, *out_len, 0};
	size_t		rc = ZSTD_decompressStream(d->zstd, &made, &in);

	*in_len = in.pos;
	*out_len = made.pos;
	/* 0 means that a frame is complete, and all of its output was returned */
	if (ZSTD_isError(rc))
		d->error = ZSTD_getErrorName(rc);
	return rc == 0;
}

/* Indexed by CompressMethod; COMPRESS_NONE has no decompressor. */
static const Codec codecs[N_COMPRESS_METHODS] = {
	[COMPRESS_GZIP] = {gzip_set_up, NULL, gzip_free, gzip_step},
	[COMPRESS_LZ4] = {lz4_set_up, lz4_reset, lz4_free, lz4_step},
	[COMPRESS_ZSTD] = {zstd_set_up, zstd_reset, zstd_free, zstd_step},
};

Decompressor *
decompressor_new(CompressMethod method, DecompressForm form)
{
	Decompressor *d = pg_malloc0(sizeof(Decompressor));

	d->codec = &codecs[method];
	if (!d->codec->set_up(d, form))
		pg_fatal("could not initialize decompression with \"%s\"",
				 compress_method_name(method));
	return d;
}

/*
 * One decompressor is used for many files: an archive contains a small file
 * for each large object, and creating a decompressor costs more than
 * decompressing such a file.
 */
void
decompressor_reset(Decompressor *d)
{
	if (d->codec->reset)
		d->codec->reset(d);
	d->in_len = 0;
	d->in_stream = false;
	d->any_stream = false;
	d->error = NULL;
}

void
decompressor_feed(Decompressor *d, const void *data, size_t len)
{
	d->in = data;
	d->in_len = len;
}

ssize_t
decompressor_fetch(Decompressor *d, void *out, size_t size)
{
	/* continue without input, because the library may still have output */
	while (d->error == NULL && (d->in_len > 0 || d->in_stream))
	{
		size_t		taken = d->in_len;
		size_t		made = size;
		bool		ended = d->codec->step(d, &taken, out, &made);

		if (d->error)
			break;
		d->in += taken;
		d->in_len -= taken;
		d->any_stream = true;
		d->in_stream = !ended;
		if (made > 0)
			return made;
		/* no progress: the library needs more input */
		if (taken == 0 && !ended)
			break;
	}
	return d->error ? -1 : 0;
}

bool
decompressor_complete(const Decompressor *d)
{
	return d->any_stream && !d->in_stream && d->error == NULL;
}

const char *
decompressor_error(const Decompressor *d)
{
	return d->error;
}

void
decompressor_free(Decompressor *d)
{
	d->codec->free(d);
	free(d);
}

/* ----------
 * Reads data of an archive, and decompresses them.
 * ----------
 */

#define DATA_READER_BUFFER_BYTES (128 * 1024)

struct DataReader
{
	CompressMethod method;
	CustomBlocks *blocks;		/* borrowed; if NULL, command */
	CommandReader *command;		/* owned; if NULL, fd */
	int			fd;
	char	   *buffer;			/* only for a file or a command */
	Decompressor *decompressor; /* NULL = not compressed */
	const char *rest;			/* uncompressed data that did not fit */
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
	reader->buffer = pg_malloc(DATA_READER_BUFFER_BYTES);
	return reader;
}

DataReader *
data_reader_new_command(CommandReader *command, CompressMethod method)
{
	DataReader *reader = data_reader_new_file(-1, method);

	reader->command = command;
	return reader;
}

void
data_reader_limit(DataReader *reader, uint64 most)
{
	if (reader->command)
		command_reader_limit(reader->command, most);
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

/* Get the next stored bytes.  Returns their number, 0 at the end, or -1. */
static ssize_t
next_stored(DataReader *reader, const char **data)
{
	ssize_t		len;

	if (reader->blocks)
	{
		/*
		 * The bytes are in the buffer of the blocks, and are borrowed until
		 * the next call.  So read_plain() uses all of them before it calls
		 * this function again.
		 */
		len = custom_block_next(reader->blocks, data);
		if (len < 0)
			reader->error = custom_block_error(reader->blocks);
	}
	else if (reader->command)
	{
		*data = reader->buffer;
		len = command_reader_read(reader->command, reader->buffer,
								  DATA_READER_BUFFER_BYTES);
		if (len < 0)
			reader->error = command_reader_error(reader->command);
	}
	else
	{
		*data = reader->buffer;
		do
			len = read(reader->fd, reader->buffer, DATA_READER_BUFFER_BYTES);
		while (len < 0 && errno == EINTR);
		if (len < 0)
			reader->error = strerror(errno);
	}
	if (len > 0)
		reader->stored_bytes += len;
	return len;
}

/*
 * All stored bytes were read: set an error if the compressed data are not
 * complete.  pg_dump writes no lz4 or zstd frame before it has a byte to
 * compress, so an empty large object is an empty file.
 */
static void
check_end(DataReader *reader)
{
	bool		nothing = reader->stored_bytes == 0 &&
		reader->method != COMPRESS_GZIP;

	reader->at_end = true;
	if (reader->decompressor && !nothing &&
		!decompressor_complete(reader->decompressor))
		reader->error = "the compressed data is truncated";
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
	ssize_t		len = 0;

	if (reader->error == NULL && !reader->at_end)
	{
		len = reader->decompressor ? read_compressed(reader, buf, size) :
			read_plain(reader, buf, size);
		if (len == 0)
			check_end(reader);
	}
	/* the decompressor may have found wrong bytes of the command */
	if (reader->error && reader->command)
		command_reader_note(reader->command);
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
	if (reader->command)
		command_reader_free(reader->command);
	if (reader->fd >= 0)
		close(reader->fd);
	if (reader->decompressor)
		decompressor_free(reader->decompressor);
	free(reader->buffer);
	free(reader);
}

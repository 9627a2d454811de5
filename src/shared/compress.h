/*
 * compress.h
 *		A compression method, its level, and zstd's extras, as -Z and the
 *		server's functions take them; and the compression of a stream.
 *
 * Compiled into the extension and the frontend, and includes neither's
 * headers; memory is malloc()ed.
 */
#ifndef COMPRESS_H
#define COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Values are the archive header's byte (pg_dump 16 on; compress_io.h). */
typedef enum CompressMethod
{
	COMPRESS_NONE = 0,
	COMPRESS_GZIP = 1,
	COMPRESS_LZ4 = 2,
	COMPRESS_ZSTD = 3
} CompressMethod;

#define N_COMPRESS_METHODS (COMPRESS_ZSTD + 1)

typedef struct CompressSpec
{
	CompressMethod method;
	int			level;			/* resolved: never "default" */
	bool		long_distance;	/* zstd only */
	int			workers;		/* zstd only: threads per stream, 0 = none */
} CompressSpec;

/* Room for any message of compress_spec_parse(). */
#define COMPRESS_SPEC_ERROR_BYTES 256

/*
 * Read a number 0-9 (gzip level, 0 = none) or METHOD[:DETAIL], DETAIL being a
 * number or a comma separated list of level=N, long[=BOOL], workers=N
 * (PostgreSQL's common/compression.c).  Without a level: gzip 6, lz4 0, zstd
 * 3, as pg_dump has them.  False, and a message, for what it does not know.
 */
extern bool compress_spec_parse(const char *arg, CompressSpec *spec,
								char *error);

/* Write a spec so that compress_spec_parse() reads the same. */
extern void compress_spec_print(const CompressSpec *spec, char *buf,
								size_t size);

/* Do both ask for the same? */
extern bool compress_spec_equal(const CompressSpec *a, const CompressSpec *b);

/*
 * The default for archives that the pg_restore of this major reads: zstd
 * level 1 from 16 on, gzip level 1 before.
 */
extern CompressSpec compress_spec_default(int pg_dump_major);

/* Does the pg_restore of this major read files of this method? */
extern bool compress_method_readable(CompressMethod method, int pg_dump_major);

/* "gzip", ... and the suffix of data files: "", ".gz", ".lz4", ".zst" */
extern const char *compress_method_name(CompressMethod method);
extern const char *compress_method_suffix(CompressMethod method);

/* ----------
 * Compresses a stream that is fed block by block.
 *
 * All blocks of a stream make one lz4 frame, one zstd frame or, at zstd's
 * first level, a sequence of them, or a sequence of gzip members.  The
 * output is fetched in pieces:
 *
 *		block_compressor_feed(c, data, len, last);
 *		while ((n = block_compressor_fetch(c, out)) > 0)
 *			... n bytes at out ...
 *		if (n < 0) ... block_compressor_error(c) ...
 * ----------
 */

typedef struct BlockCompressor BlockCompressor;

/*
 * A compressor for one stream (not COMPRESS_NONE), or NULL: out of memory.
 *
 * With "checksums", each frame has a checksum of what is in it, as a gzip
 * member always has, and its readers compare it: for what is kept long, and
 * may be read by programs that know of no other.
 */
extern BlockCompressor *block_compressor_new(const CompressSpec *spec,
											 bool checksums);

/*
 * Ready for another stream of the same kind, also after an error in this one.
 */
extern void block_compressor_reset(BlockCompressor *c);

/* The bytes that block_compressor_fetch() needs room for. */
extern size_t block_compressor_out_bytes(const BlockCompressor *c);

/*
 * The next bytes of the stream; they are borrowed until all output is
 * fetched.  "last" ends the stream.
 */
extern void block_compressor_feed(BlockCompressor *c, const void *data,
								  size_t len, bool last);

/*
 * Some output: its length, 0 if there is none before the next block (or at
 * all, after the last), -1 for an error.
 */
extern ssize_t block_compressor_fetch(BlockCompressor *c, void *out);

/*
 * Or all of a stream at once, in one frame or member: its length, -1 for an
 * error.  There must be room for block_compressor_bound() bytes.
 */
extern size_t block_compressor_bound(const BlockCompressor *c, size_t len);
extern ssize_t block_compressor_whole(BlockCompressor *c, const void *data,
									  size_t len, void *out);

/* The library's message for the error. */
extern const char *block_compressor_error(const BlockCompressor *c);

/* Free a compressor, not NULL, wherever its stream is. */
extern void block_compressor_free(BlockCompressor *c);

#endif							/* COMPRESS_H */

/*
 * compress.h
 *		Compression options as -Z and the extension's functions accept them,
 *		and compressors for streams.
 *
 * This is compiled into the extension and into the programs, so it includes
 * no header of either side.  Memory is allocated with malloc(), and errors
 * are returned.  The programs make their data files with it, the extension
 * the rows and files that it sends.
 */
#ifndef COMPRESS_H
#define COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The values are those of the byte in the header of an archive, toc.dat,
 * since pg_dump 16 (common/compression.h: pg_compress_algorithm).
 */
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
	int			level;			/* always a level, never "default" */
	bool		long_distance;	/* zstd only */
	int			workers;		/* zstd only: threads per stream, 0 = none */
} CompressSpec;

/* Room for any message of compress_spec_parse(). */
#define COMPRESS_SPEC_ERROR_BYTES 256

/*
 * Parse compression options: a number 0-9 (a gzip level, or 0 for none), or
 * METHOD[:DETAIL].  DETAIL is a level, or a comma-separated list of level=N,
 * long[=BOOL] and workers=N, as in PostgreSQL's common/compression.c.  The
 * default levels are pg_dump's: gzip 6, lz4 0, zstd 3.  If the options are
 * wrong, returns false and writes a message to "error", which must have room
 * for COMPRESS_SPEC_ERROR_BYTES.
 */
extern bool compress_spec_parse(const char *arg, CompressSpec *spec,
								char *error);

/* Write options as a text of which compress_spec_parse() makes the same. */
extern void compress_spec_print(const CompressSpec *spec, char *buf,
								size_t size);

/* Are both options the same? */
extern bool compress_spec_equal(const CompressSpec *a, const CompressSpec *b);

/*
 * Return the default for archives that pg_restore of this major version must
 * be able to read: zstd level 1 since 16, gzip level 1 before.
 */
extern CompressSpec compress_spec_default(int pg_dump_major);

/* Can pg_restore of this major version read files of this method? */
extern bool compress_method_readable(CompressMethod method, int pg_dump_major);

/*
 * Return the name of a method, such as "gzip", and the suffix of its data
 * files: "", ".gz", ".lz4" or ".zst".
 */
extern const char *compress_method_name(CompressMethod method);
extern const char *compress_method_suffix(CompressMethod method);

/* ----------
 * Compresses a stream that is fed block by block.
 *
 * The output of a stream is one lz4 frame, one zstd frame, a sequence of
 * zstd frames (at its first level) or a sequence of gzip members.  All of
 * these are what the libraries' programs and pg_restore read as one file.
 * The output is fetched in pieces:
 *
 *		block_compressor_feed(c, data, len, last);
 *		while ((n = block_compressor_fetch(c, out)) > 0)
 *			... n bytes at out ...
 *		if (n < 0) ... block_compressor_error(c) ...
 * ----------
 */

typedef struct BlockCompressor BlockCompressor;

/*
 * Create a compressor for one stream.  The method must not be COMPRESS_NONE.
 * Returns NULL if out of memory.
 *
 * With "checksums", each frame contains a checksum of its data, which its
 * readers compare; a gzip member always contains one.  This is useful for
 * files that are kept for a long time and may be read by programs that do not
 * know any other checksum of them.
 */
extern BlockCompressor *block_compressor_new(const CompressSpec *spec,
											 bool checksums);

/*
 * Prepare the compressor for another stream with the same options.  This is
 * allowed at any time, also after an error.
 */
extern void block_compressor_reset(BlockCompressor *c);

/* Return the room that block_compressor_fetch() needs at "out", in bytes. */
extern size_t block_compressor_out_bytes(const BlockCompressor *c);

/*
 * Pass the next bytes of the stream.  They are borrowed until all output has
 * been fetched.  "last" ends the stream.
 */
extern void block_compressor_feed(BlockCompressor *c, const void *data,
								  size_t len, bool last);

/*
 * Write some output to "out" and return its length.  Returns 0 if there is no
 * more output before the next block is passed, or after the last block; -1
 * for an error.
 */
extern ssize_t block_compressor_fetch(BlockCompressor *c, void *out);

/*
 * Compress "len" bytes into a single frame or member, instead of a stream.
 * "out" must have room for block_compressor_bound(len) bytes.  Returns the
 * length of the output, or -1 for an error.
 */
extern size_t block_compressor_bound(const BlockCompressor *c, size_t len);
extern ssize_t block_compressor_whole(BlockCompressor *c, const void *data,
									  size_t len, void *out);

/* Return the message for the error of the last call that returned -1. */
extern const char *block_compressor_error(const BlockCompressor *c);

/* Free a compressor, whose stream need not be complete.  Not NULL. */
extern void block_compressor_free(BlockCompressor *c);

#endif							/* COMPRESS_H */

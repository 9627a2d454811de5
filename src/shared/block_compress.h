/*
 * block_compress.h
 *		Compresses a stream that is fed block by block.
 *
 * All blocks of a stream make one lz4 frame, one zstd frame or, at zstd's
 * first level, a sequence of them, or a sequence of gzip members.  The
 * output is fetched in pieces:
 *
 *		block_compressor_feed(c, data, len, last);
 *		while ((n = block_compressor_fetch(c, out)) > 0)
 *			... n bytes at out ...
 *		if (n < 0) ... block_compressor_error(c) ...
 *
 * Compiled into the extension and the frontend, and includes neither's
 * headers; memory is malloc()ed.
 */
#ifndef BLOCK_COMPRESS_H
#define BLOCK_COMPRESS_H

#include <sys/types.h>

#include "shared/compress_spec.h"

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

#endif							/* BLOCK_COMPRESS_H */

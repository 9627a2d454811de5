/*
 * decompress.h
 *		Decompresses what is fed piece by piece, of any origin.
 *
 * A file is one compressed stream after the other: gzip members, lz4 or zstd
 * frames.
 *
 *		decompressor_feed(d, data, len);
 *		while ((n = decompressor_fetch(d, out, size)) > 0)
 *			... n bytes at out ...
 *		if (n < 0) ... decompressor_error(d) ...
 *
 * The bytes are not trusted: memory is bounded by the formats' windows (32
 * kB, 4 MB, 128 MB), whatever sizes a file claims, and every call makes
 * progress or returns 0.
 */
#ifndef DECOMPRESS_H
#define DECOMPRESS_H

#include "base/fe_compat.h"

#include <sys/types.h>

#include "shared/compress_spec.h"

typedef struct Decompressor Decompressor;

/*
 * In a file "gzip" has gzip's head and checksum, within a custom archive
 * zlib's (compress_gzip.c: gzopen(), and deflateInit() for the other).
 */
typedef enum DecompressForm
{
	DECOMPRESS_FILE,
	DECOMPRESS_CUSTOM
} DecompressForm;

/* Not for COMPRESS_NONE.  Exits with a message if memory is out. */
extern Decompressor *decompressor_new(CompressMethod method,
									  DecompressForm form);

/* Forget what was fed, and begin anew. */
extern void decompressor_reset(Decompressor *d);

/* The next bytes, borrowed until all output is fetched. */
extern void decompressor_feed(Decompressor *d, const void *data, size_t len);

/* Some output: its length, 0 if more must be fed first, -1 for an error. */
extern ssize_t decompressor_fetch(Decompressor *d, void *out, size_t size);

/* Has all that was fed been whole streams, at least one? */
extern bool decompressor_complete(const Decompressor *d);

/* What is wrong; borrowed. */
extern const char *decompressor_error(const Decompressor *d);

/* Free it, wherever in a stream it is. */
extern void decompressor_free(Decompressor *d);

#endif							/* DECOMPRESS_H */

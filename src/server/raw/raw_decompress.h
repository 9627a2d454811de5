/*-------------------------------------------------------------------------
 *
 * raw_decompress.h
 *	  The frames of a compressed block of raw tuples.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RAW_DECOMPRESS_H
#define PARDUMP_RAW_DECOMPRESS_H

#include "postgres.h"

/*
 * Decompress "len" bytes, by a CompressMethod that is not COMPRESS_NONE, and
 * may be none at all, to "raw_bytes" bytes in CurrentMemoryContext, at most
 * RAW_MAX_BYTES.  Data that is damaged, or does not give exactly raw_bytes
 * bytes, is an error (XX001), and no memory is written beyond them.
 */
extern char *raw_decompress(uint32 method, const char *data, Size len,
							Size raw_bytes);

#endif							/* PARDUMP_RAW_DECOMPRESS_H */

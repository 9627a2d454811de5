/*-------------------------------------------------------------------------
 *
 * context_compressor.h
 *	  A compressor as memory contexts and errors have it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_CONTEXT_COMPRESSOR_H
#define PARDUMP_CONTEXT_COMPRESSOR_H

#include "shared/compress.h"

/*
 * A compressor (not COMPRESS_NONE) that is freed when CurrentMemoryContext
 * goes: its memory is malloc()ed.  Otherwise as block_compressor_new().
 */
extern BlockCompressor *context_compressor_new(const CompressSpec *compress,
											   bool checksums);

/* As those of compress.h, but what goes wrong is an ERROR. */
extern Size context_compressor_fetch(BlockCompressor *compressor, void *out);
extern Size context_compressor_whole(BlockCompressor *compressor,
									 const void *data, Size len, void *out);

#endif							/* PARDUMP_CONTEXT_COMPRESSOR_H */

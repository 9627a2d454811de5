/*-------------------------------------------------------------------------
 *
 * context_compressor.h
 *	  Compressors that belong to a memory context and raise errors.
 *
 * read/chunk_reader.c and read/file_stream.c compress their results with
 * these functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_CONTEXT_COMPRESSOR_H
#define PARDUMP_CONTEXT_COMPRESSOR_H

#include "shared/compress.h"

/*
 * Create a compressor, as block_compressor_new() does.  The method must not
 * be COMPRESS_NONE.  The compressor is freed when the current memory context
 * is reset or deleted.
 */
extern BlockCompressor *context_compressor_new(const CompressSpec *compress,
											   bool checksums);

/* As the functions of compress.h, but a failure raises an error. */
extern Size context_compressor_fetch(BlockCompressor *compressor, void *out);
extern Size context_compressor_whole(BlockCompressor *compressor,
									 const void *data, Size len, void *out);

#endif							/* PARDUMP_CONTEXT_COMPRESSOR_H */

/*-------------------------------------------------------------------------
 *
 * context_compressor.c
 *	  Adapts the compressors of shared/compress.c to the server's memory
 *	  contexts and errors.
 *
 * The frontend uses shared/compress.c as well, so that file allocates with
 * malloc() and returns errors.  Here, a callback of the memory context frees
 * the compressor, also after an error, and failures are raised with
 * ereport().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "bytes/context_compressor.h"

static void
free_compressor(void *arg)
{
	block_compressor_free(arg);
}

BlockCompressor *
context_compressor_new(const CompressSpec *compress, bool checksums)
{
	/* allocated first, as an error of palloc() would leak the compressor */
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	BlockCompressor *compressor = block_compressor_new(compress, checksums);

	if (compressor == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not initialize compression with \"%s\"",
						compress_method_name(compress->method))));
	callback->func = free_compressor;
	callback->arg = compressor;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	return compressor;
}

/*
 * Return the result of a function of compress.h, or raise an error if it has
 * failed.  The callback frees the compressor also after this error.
 */
static Size
check_made(const BlockCompressor *compressor, ssize_t made)
{
	if (made < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compress data: %s",
						block_compressor_error(compressor))));
	return made;
}

Size
context_compressor_fetch(BlockCompressor *compressor, void *out)
{
	return check_made(compressor, block_compressor_fetch(compressor, out));
}

Size
context_compressor_whole(BlockCompressor *compressor, const void *data,
						 Size len, void *out)
{
	return check_made(compressor,
					  block_compressor_whole(compressor, data, len, out));
}

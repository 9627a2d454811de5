/*-------------------------------------------------------------------------
 *
 * context_compressor.c
 *	  A compressor that is freed with a memory context and reports errors by
 *	  ereport().
 *
 * The code in src/shared is the frontend's as well: it allocates by malloc()
 * and returns errors.
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
	/* first, as nothing may fail once there is a compressor */
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
 * Raise an error if a function of compress.h has failed; else return
 * its result.  After the error the callback still frees the compressor.
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

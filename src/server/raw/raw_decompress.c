/*-------------------------------------------------------------------------
 *
 * raw_decompress.c
 *	  Decompresses a block of raw tuples at once: its length is known.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <lz4frame.h>
#include <zstd.h>

#include "utils/memutils.h"

#include "raw/raw_decompress.h"
#include "shared/compress_spec.h"

static void
damaged_data(const char *method)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("could not decompress block of raw tuples"),
			 errdetail("Its %s data is damaged, or not as long as it says.",
					   method)));
}

/* One frame of lz4, with nothing behind it. */
static bool
decompress_lz4(LZ4F_dctx *lz4, const char *data, Size len, char *to,
			   Size raw_bytes)
{
	Size		taken = 0;
	Size		made = 0;
	size_t		more = 1;

	while (more > 0)
	{
		size_t		out = raw_bytes - made;
		size_t		in = len - taken;

		more = LZ4F_decompress(lz4, to + made, &out, data + taken, &in, NULL);
		if (LZ4F_isError(more) || (out == 0 && in == 0 && more > 0))
			return false;
		made += out;
		taken += in;
	}
	return made == raw_bytes && taken == len;
}

static void
read_lz4(const char *data, Size len, char *to, Size raw_bytes)
{
	LZ4F_dctx  *lz4;
	bool		sound;

	/* its memory is malloc()ed: no error comes before it is freed */
	if (LZ4F_isError(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION)))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	sound = decompress_lz4(lz4, data, len, to, raw_bytes);
	LZ4F_freeDecompressionContext(lz4);
	if (!sound)
		damaged_data("lz4");
}

char *
raw_decompress(uint32 method, const char *data, Size len, Size raw_bytes)
{
	char	   *result;

	if (method != COMPRESS_LZ4 && method != COMPRESS_ZSTD)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("unknown compression of block of raw tuples")));
	result = palloc(raw_bytes + 1);
	if (method == COMPRESS_LZ4)
		read_lz4(data, len, result, raw_bytes);
	else if (ZSTD_decompress(result, raw_bytes, data, len) != raw_bytes)
		damaged_data("zstd");
	return result;
}

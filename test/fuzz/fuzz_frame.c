/*
 * fuzz_frame.c
 *		compressed_frame_bytes() on any bytes, the first of which chooses the
 *		method.  What it takes for a frame must be as long as it says when it
 *		is decompressed.
 */
#include "base/fe_compat.h"

#include "basebackup/tar_archive.h"
#include "stream/decompress.h"

/* A few bytes can stand for very many: enough is enough. */
#define OUTPUT_MAX (1024 * 1024)

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef enum Outcome
{
	WHOLE,
	CUT,
	UNKNOWN						/* damaged, or too long */
} Outcome;

/* What bytes are that are all that there is. */
static Outcome
decompress(const uint8_t *data, size_t size, CompressMethod method)
{
	static char out[8192];
	Decompressor *d = decompressor_new(method, DECOMPRESS_FILE);
	size_t		made = 0;
	ssize_t		len;
	Outcome		result;

	decompressor_feed(d, (const char *) data, size);
	while ((len = decompressor_fetch(d, out, sizeof(out))) > 0 &&
		   made < OUTPUT_MAX)
		made += len;
	result = len != 0 ? UNKNOWN : decompressor_complete(d) ? WHOLE : CUT;
	decompressor_free(d);
	return result;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CompressMethod method;

	if (size < 1)
		return 0;
	method = data[0] % 2 ? COMPRESS_LZ4 : COMPRESS_ZSTD;
	/* frame after frame, as frame_list.c goes through a file */
	for (size_t pos = 1; pos < size;)
	{
		/* of its own, so that nothing is read beyond it */
		size_t		left = size - pos;
		uint8_t    *rest = memcpy(pg_malloc(left), data + pos, left);
		uint64		bytes = compressed_frame_bytes(rest, left, method);

		if (bytes > left ||
			(bytes > 0 && decompress(rest, bytes, method) == CUT))
			abort();
		free(rest);
		if (bytes == 0)
			break;
		pos += bytes;
	}
	return 0;
}

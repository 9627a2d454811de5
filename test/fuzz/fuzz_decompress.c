/*
 * fuzz_decompress.c
 *		The decompressors on any bytes: the first chooses the method, its
 *		form, and the size of the pieces that the others come in.
 */
#include "base/fe_compat.h"

#include "stream/decompress.h"

/* A few bytes can stand for very many: enough is enough. */
#define OUTPUT_MAX (16 * 1024 * 1024)

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char out[8192];
	Decompressor *d;
	size_t		piece;
	size_t		made = 0;
	ssize_t		len = 0;

	if (size < 1)
		return 0;
	d = decompressor_new((CompressMethod) (1 + data[0] % 3),
						 data[0] < 128 ? DECOMPRESS_FILE : DECOMPRESS_CUSTOM);
	piece = 1 + data[0] / 3 * 7;
	for (size_t at = 1; at < size && len >= 0 && made < OUTPUT_MAX; at += piece)
	{
		decompressor_feed(d, data + at, Min(piece, size - at));
		while ((len = decompressor_fetch(d, out, sizeof(out))) > 0 &&
			   made < OUTPUT_MAX)
			made += len;
	}
	if (len < 0 && decompressor_error(d) == NULL)
		abort();
	(void) decompressor_complete(d);
	decompressor_free(d);
	return 0;
}

/*
 * hex.c
 *		Implements hex.h: converts bytes to hexadecimal digits, and back.
 */
#include "base/fe_compat.h"

#include "base/hex.h"

static const char digits[] = "0123456789abcdef";

char *
hex_encode(const void *bytes, size_t len)
{
	const uint8 *from = bytes;
	char	   *text = pg_malloc(2 * len + 1);

	for (size_t i = 0; i < len; i++)
	{
		text[2 * i] = digits[from[i] >> 4];
		text[2 * i + 1] = digits[from[i] & 0xF];
	}
	text[2 * len] = '\0';
	return text;
}

char *
hex_random(size_t n_bytes)
{
	uint8	   *bytes = pg_malloc(n_bytes);

	if (!pg_strong_random(bytes, n_bytes))
		pg_fatal("could not generate random bytes");
	return hex_encode(bytes, n_bytes);
}

int
hex_decode(const char *text, uint8 *bytes, size_t max)
{
	size_t		len = strlen(text);

	/*
	 * The text may come from a damaged file, and bytes has space for only
	 * max.
	 */
	if (len % 2 != 0 || len / 2 > max)
		return -1;
	for (size_t i = 0; i < len / 2; i++)
	{
		const char *high = strchr(digits, text[2 * i]);
		const char *low = strchr(digits, text[2 * i + 1]);

		if (high == NULL || low == NULL)
			return -1;
		bytes[i] = (uint8) ((high - digits) << 4 | (low - digits));
	}
	return (int) (len / 2);
}

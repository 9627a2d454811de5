/*
 * hex.c
 *		Bytes as hexadecimal digits.
 */
#include "base/fe_compat.h"

#include "base/hex.h"

char *
hex_encode(const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
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

/* Its two hexadecimal digits, or -1. */
static int
hex_byte(const char *text)
{
	int			value = 0;

	for (int i = 0; i < 2; i++)
	{
		char		c = text[i];

		if (c >= '0' && c <= '9')
			value = value * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (c - 'a' + 10);
		else
			return -1;
	}
	return value;
}

int
hex_decode(const char *text, uint8 *bytes, size_t max)
{
	size_t		len = strlen(text);

	/* the text may come from a damaged file, and bytes has room for max */
	if (len % 2 != 0 || len / 2 > max)
		return -1;
	for (size_t i = 0; i < len / 2; i++)
	{
		int			byte = hex_byte(text + 2 * i);

		if (byte < 0)
			return -1;
		bytes[i] = (uint8) byte;
	}
	return (int) (len / 2);
}

/*-------------------------------------------------------------------------
 *
 * escape.c
 *	  The parts of escaping text that are not inlined.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "bytes/escape.h"

/* \v is COPY's alone, JSON does not have it. */
const char	escape_letters[BYTE_BLOCK_SIZE] = {
	['\b'] = 'b',
	['\t'] = 't',
	['\n'] = 'n',
	['\v'] = 'v',
	['\f'] = 'f',
	['\r'] = 'r'
};

bool
text_is_ascii(const char *string, Size len)
{
	const char *end = string + len;

	for (; end - string >= BYTE_BLOCK_SIZE; string += BYTE_BLOCK_SIZE)
	{
		if (byte_block_has_high_bit(byte_block_load(string)))
			return false;
	}
	/* a block made of overlapping parts serves for 4 to 15 bytes */
	if (end - string >= 4)
		return !byte_block_has_high_bit(byte_block_from_short(string,
															  end - string));
	for (; string < end; string++)
	{
		if (IS_HIGHBIT_SET(*string))
			return false;
	}
	return true;
}

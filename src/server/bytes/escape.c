/*-------------------------------------------------------------------------
 *
 * escape.c
 *	  The table of escapes, and a test whether a text is ASCII.
 *
 * escape.h explains how texts are escaped.  Its functions are inlined into
 * the encoders; only code that need not be inlined is in this file.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "bytes/escape.h"

/* COPY has all of these escapes, JSON has no \v. */
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
	/* 4 to 15 bytes fit into a block, some of them twice */
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

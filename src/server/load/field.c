/*-------------------------------------------------------------------------
 *
 * field.c
 *	  A field of COPY's text format, as it stands in the line.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "bytes/escape.h"
#include "load/field.h"

/* What the letter behind a backslash stands for. */
static inline char
escaped_char(char letter)
{
	char		control = letter == 'v' ? '\v' : unescape_letter(letter);

	return control != '\0' ? control : letter;
}

Size
field_unescape(const Field *field, char *to)
{
	const char *from = field->text;
	const char *end = from + field->len;
	char	   *start = to;

	while (from < end)
	{
		ByteBlock	block = byte_block_load(from);
		ByteBlock	flags = byte_block_eq(block, '\\');
		int			plain = BYTE_BLOCK_SIZE;

		/* what is stored beyond the end is overwritten, or padding */
		byte_block_store(to, block);
		if (byte_block_any(flags))
			plain = byte_block_first(flags);
		if (plain >= end - from)
		{
			to += end - from;
			break;
		}
		from += plain;
		to += plain;
		if (plain < BYTE_BLOCK_SIZE)
		{
			*to++ = escaped_char(from[1]);
			from += 2;
		}
	}
	return to - start;
}

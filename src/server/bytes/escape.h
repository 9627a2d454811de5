/*-------------------------------------------------------------------------
 *
 * escape.h
 *	  Copies text and writes escapes for its special bytes on the way.
 *
 * One inlined routine for all kinds of escapes.  Blocks of 16 bytes are
 * stored as they are and tested; only one with a special byte is looked at
 * closer.  All special bytes are ASCII, so text must be in an encoding whose
 * multi-byte characters have no ASCII bytes in them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ESCAPE_H
#define PARDUMP_ESCAPE_H

#include "postgres.h"

#include "bytes/byte_block.h"

typedef enum EscapeKind
{
	ESCAPE_COPY,				/* COPY's (copyto.c: CopyAttributeOutText) */
	ESCAPE_JSON,				/* those of a JSON string (json.c:
								 * escape_json) */
	ESCAPE_JSON_COPY			/* the same, and of the outcome COPY's */
} EscapeKind;

/*
 * The room that an escaped text of "len" bytes may need to be written in, its
 * overlapping stores included.
 */
#define COPY_ESCAPED_SIZE(len)	(2 * (Size) (len) + BYTE_BLOCK_SIZE)
#define JSON_ESCAPED_SIZE(len)	(7 * (Size) (len) + BYTE_BLOCK_SIZE)

/* Longer texts are escaped in pieces of this size, for the room's sake. */
#define ESCAPE_PIECE	8192

/*
 * The letter that stands behind a backslash for a special byte, 0 if there is
 * none.
 */
extern const char escape_letters[BYTE_BLOCK_SIZE];

/*
 * Flag the bytes that cannot just be copied.  Zero is among them, the text
 * ends there as it does for an output function; so are, for simplicity, the
 * control characters that COPY leaves alone.
 */
static pg_attribute_always_inline ByteBlock
flag_special(ByteBlock block, EscapeKind kind)
{
	ByteBlock	flags = byte_block_eq(block, '\\');

	if (kind == ESCAPE_COPY)
		return byte_block_or(flags, byte_block_le(block, '\r'));

	flags = byte_block_or(flags, byte_block_eq(block, '"'));
	return byte_block_or(flags, byte_block_le(block, 0x1f));
}

/* Write one byte, which may or may not be special, but is not zero. */
static pg_attribute_always_inline char *
put_escaped_byte(char *to, char c, EscapeKind kind)
{
	unsigned char byte = (unsigned char) c;
	char		letter = byte <= '\r' ? escape_letters[byte] : 0;

	if (kind == ESCAPE_COPY)
	{
		if (c == '\\')
			letter = '\\';
		if (letter != 0)
		{
			*to++ = '\\';
			c = letter;
		}
		*to++ = c;
		return to;
	}

	if (byte >= ' ' && c != '"' && c != '\\')
	{
		*to++ = c;
		return to;
	}
	*to++ = '\\';
	if (kind == ESCAPE_JSON_COPY)
		*to++ = '\\';
	if (kind == ESCAPE_JSON_COPY && c == '\\')
		*to++ = '\\';
	if (c == '"' || c == '\\')
		*to++ = c;
	else if (letter != 0 && c != '\v')
		*to++ = letter;
	else
	{
		memcpy(to, "u00", 3);
		to[3] = '0' + (byte >> 4);
		to[4] = "0123456789abcdef"[byte & 0x0f];
		to += 5;
	}
	return to;
}

/*
 * Copy and escape up to "len" bytes, less if there is a zero among them, to a
 * place that has COPY_ESCAPED_SIZE(len) or JSON_ESCAPED_SIZE(len) bytes.
 * Returns the end of what was read, and moves *written to that of what was
 * written.
 */
static pg_attribute_always_inline const char *
copy_escaping_up_to_zero(char **written, const char *from, Size len,
						 EscapeKind kind)
{
	const char *end = from + len;
	char	   *to = *written;

	while (end - from >= BYTE_BLOCK_SIZE)
	{
		ByteBlock	block = byte_block_load(from);
		ByteBlock	flags = flag_special(block, kind);
		int			place;

		byte_block_store(to, block);
		if (likely(!byte_block_any(flags)))
		{
			from += BYTE_BLOCK_SIZE;
			to += BYTE_BLOCK_SIZE;
			continue;
		}
		place = byte_block_first(flags);
		from += place;
		to += place;
		if (*from == '\0')
		{
			*written = to;
			return from;
		}
		to = put_escaped_byte(to, *from++, kind);
	}

	if (end - from >= 4 &&
		!byte_block_any(flag_special(byte_block_from_short(from, end - from),
									 kind)))
	{
		copy_short(to, from, end - from);
		*written = to + (end - from);
		return end;
	}
	while (from < end && *from != '\0')
		to = put_escaped_byte(to, *from++, kind);
	*written = to;
	return from;
}

/* The same where what lies behind a zero is of no interest. */
static pg_attribute_always_inline char *
copy_escaping(char *to, const char *from, Size len, EscapeKind kind)
{
	copy_escaping_up_to_zero(&to, from, len, kind);
	return to;
}

/*
 * Is the text ASCII only?  Such text is the same in all encodings of server
 * and client.
 */
extern bool text_is_ascii(const char *string, Size len);

#endif							/* PARDUMP_ESCAPE_H */

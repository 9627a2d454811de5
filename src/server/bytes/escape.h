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

#include "bytes/byte_block.h"
#include "bytes/byte_buffer.h"

/* ----------
 * The quotes that an element of an array's text needs.
 *
 * The rules are array_out's (src/backend/utils/adt/arrayfuncs.c).  They work
 * on text that already has COPY's escapes, because nothing that asks for
 * quotes is lost in it: a quote, brace, delimiter or space stands for itself,
 * a backslash is two, other white space is a backslash and a letter.
 * ----------
 */

typedef enum QuoteNeed
{
	QUOTE_NOT,
	QUOTE_AROUND,				/* quotes, text as it is */
	QUOTE_ESCAPED				/* quotes, and backslashes within */
} QuoteNeed;

/* Look at an element byte by byte, as it has a quote or a backslash. */
static inline QuoteNeed
quote_need_by_byte(const char *string, Size len, char delimiter)
{
	QuoteNeed	need = QUOTE_NOT;

	for (Size i = 0; i < len; i++)
	{
		char		c = string[i];

		if (c == '"')
			return QUOTE_ESCAPED;
		else if (c == '\\')
		{
			i++;
			if (string[i] == '\\')
				return QUOTE_ESCAPED;
			if (string[i] != 'b')
				need = QUOTE_AROUND;
		}
		else if (c == '{' || c == '}' || c == ' ' || c == delimiter)
			need = QUOTE_AROUND;
	}
	return need;
}

static inline ByteBlock
flag_quotes(ByteBlock block)
{
	return byte_block_eq(block, '"') | byte_block_eq(block, '\\');
}

static inline ByteBlock
flag_separators(ByteBlock block, char delimiter)
{
	return byte_block_eq(block, '{') | byte_block_eq(block, '}') |
		byte_block_eq(block, ' ') | byte_block_eq(block, delimiter);
}

/* Find out which quotes array_out() gives a text that has COPY's escapes. */
static inline QuoteNeed
quote_need(const char *string, Size len, char delimiter)
{
	ByteBlock	block;
	ByteBlock	quotes;
	ByteBlock	separators;

	if (len < 4)
		return len == 0 ? QUOTE_AROUND :
			quote_need_by_byte(string, len, delimiter);
	if (len == 4 && pg_strncasecmp(string, "NULL", 4) == 0)
		return QUOTE_AROUND;

	block = len < BYTE_BLOCK_SIZE ? byte_block_from_short(string, len) :
		byte_block_load(string);
	quotes = flag_quotes(block);
	separators = flag_separators(block, delimiter);
	for (Size i = BYTE_BLOCK_SIZE; i < len; i += BYTE_BLOCK_SIZE)
	{
		/* the last block overlaps the one before */
		block = byte_block_load(string + Min(i, len - BYTE_BLOCK_SIZE));
		quotes |= flag_quotes(block);
		separators |= flag_separators(block, delimiter);
	}

	if (byte_block_any(quotes))
		return quote_need_by_byte(string, len, delimiter);
	return byte_block_any(separators) ? QUOTE_AROUND : QUOTE_NOT;
}

/*
 * Write text that has COPY's escapes with array_out's below them: a backslash
 * before each quote and backslash, which COPY then doubles.  A quote becomes
 * three bytes, a pair of backslashes four.
 */
static inline char *
put_array_escaped(char *to, const char *string, Size len)
{
	for (Size i = 0; i < len; i++)
	{
		char		c = string[i];

		if (c == '"')
		{
			*to++ = '\\';
			*to++ = '\\';
		}
		else if (c == '\\')
		{
			*to++ = c;
			c = string[++i];
			if (c == '\\')
			{
				*to++ = c;
				*to++ = c;
			}
		}
		*to++ = c;
	}
	return to;
}

/*
 * Give the element that the buffer holds from "start" up to "to", with
 * COPY's escapes, the quotes and backslashes that it needs in an array of
 * this delimiter (',' or ';'), COPY's escapes included.  "*quoted" says
 * that an opening quote stands there already, which goes if it is not needed;
 * then, whether quotes stand around the element now.  Returns its end.
 */
static inline char *
array_quote(ByteBuffer *out, char *to, Size start, bool *quoted,
			char delimiter)
{
	char	   *string = out->data + start + (*quoted ? 1 : 0);
	Size		len = to - string;
	QuoteNeed	need = quote_need(string, len, delimiter);

	if (need == QUOTE_ESCAPED)
	{
		char	   *behind = byte_buffer_reserve(out, to, 3 * len + 2);

		string = behind - len;
		to = behind;
		*to++ = '"';
		to = put_array_escaped(to, string, len);
		*to++ = '"';
		len = to - behind;
		memmove(out->data + start, behind, len);
		to = out->data + start + len;
	}
	else if (need == QUOTE_AROUND)
	{
		string = byte_buffer_reserve(out, to, 2) - len;
		if (!*quoted)
		{
			memmove(string + 1, string, len);
			*string++ = '"';
		}
		to = string + len;
		*to++ = '"';
	}
	else if (*quoted)
	{
		memmove(string - 1, string, len);
		to--;
	}
	*quoted = need != QUOTE_NOT;
	return to;
}

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
 * The mirror: the control character that a letter behind a backslash stands
 * for in both COPY and JSON, 0 if there is none.
 */
static inline char
unescape_letter(char letter)
{
	switch (letter)
	{
		case 'b':
			return '\b';
		case 'f':
			return '\f';
		case 'n':
			return '\n';
		case 'r':
			return '\r';
		case 't':
			return '\t';
		default:
			return '\0';
	}
}

/*
 * Flag the bytes that cannot just be copied.  Zero is among them, the text
 * ends there as it does for an output function; so are, for simplicity, the
 * control characters that COPY leaves alone.
 */
static pg_attribute_always_inline ByteBlock
flag_special(ByteBlock block, EscapeKind kind)
{
	if (kind == ESCAPE_COPY)
		return byte_block_eq(block, '\\') | byte_block_le(block, '\r');
	return flag_quotes(block) | byte_block_le(block, 0x1f);
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

/*-------------------------------------------------------------------------
 *
 * escape.h
 *	  Copies text, and writes escapes in place of its special bytes.
 *
 * The encoders and decoders of texts, arrays and JSON in types/ use these
 * functions, and load/row_reader.c uses unescape_letter().
 *
 * One function writes all kinds of escapes.  It is inlined, and the kind is a
 * constant in each call, so the compiler makes a loop for each kind.  The
 * loop stores each block of 16 bytes unchanged, then tests it, and continues
 * after the first special byte if the block contains one.  All special bytes
 * are ASCII.  So the text must be in an encoding whose multi-byte characters
 * contain no ASCII bytes, which is true of all server encodings.
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
 * The rules are those of array_out() (src/backend/utils/adt/arrayfuncs.c).
 * These functions apply them to text that COPY's escapes are already written
 * in, which is possible because each character that requires quotes can still
 * be found: quotes, braces, delimiters and spaces are unchanged, a backslash
 * has become two, and other white space a backslash and a letter.
 * ----------
 */

typedef enum QuoteNeed
{
	QUOTE_NOT,
	QUOTE_AROUND,				/* quotes around the unchanged text */
	QUOTE_ESCAPED				/* quotes, and backslashes in the text */
} QuoteNeed;

/*
 * Find out byte by byte which quotes a text needs.  A backslash begins an
 * escape of COPY, whose second byte decides.  Of the control characters that
 * COPY escapes, only \b is not white space to array_out().
 */
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

/*
 * Find out which quotes array_out() would write around a text in which COPY's
 * escapes are already written.
 */
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
		/* the last block overlaps the one before, to end with the text */
		block = byte_block_load(string + Min(i, len - BYTE_BLOCK_SIZE));
		quotes |= flag_quotes(block);
		separators |= flag_separators(block, delimiter);
	}

	if (byte_block_any(quotes))
		return quote_need_by_byte(string, len, delimiter);
	return byte_block_any(separators) ? QUOTE_AROUND : QUOTE_NOT;
}

/*
 * Write a text that contains COPY's escapes with the escapes of array_out()
 * added.  array_out() writes a backslash before each quote and backslash, and
 * COPY would double all backslashes of the result.  So a quote becomes three
 * bytes, and two backslashes become four.
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
 * Quote an element of an array as necessary.  The buffer contains the element
 * from "start" to "to", with COPY's escapes written.  The array's delimiter
 * is ',' or ';'.  If "*quoted" is set, an opening quote has been written at
 * "start" already, which is removed if it is not needed.  "*quoted" becomes
 * whether quotes surround the element now.  Returns the end of the element.
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
		/* built after the element, then moved, as the text grows */
		char	   *behind = byte_buffer_reserve(out, to, 3 * len + 2);

		/* reserving may have moved the buffer */
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
	ESCAPE_JSON,				/* a JSON string's (json.c: escape_json) */
	ESCAPE_JSON_COPY			/* a JSON string's, then COPY's */
} EscapeKind;

/*
 * The room that writing a text of "len" bytes with escapes may need,
 * including bytes that are stored beyond its end.
 */
#define COPY_ESCAPED_SIZE(len)	(2 * (Size) (len) + BYTE_BLOCK_SIZE)
#define JSON_ESCAPED_SIZE(len)	(7 * (Size) (len) + BYTE_BLOCK_SIZE)

/*
 * Longer texts are escaped in pieces of this size, so that the room for the
 * longest possible result need not be reserved for all of a long text.
 */
#define ESCAPE_PIECE	8192

/* The letter after the backslash of an escape, by special byte, or 0. */
extern const char escape_letters[BYTE_BLOCK_SIZE];

/*
 * Return the control character that a letter after a backslash means in both
 * COPY and JSON, or 0 if the letter means none in one of them.
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
 * Flag the bytes that cannot just be copied.  Zero is flagged because a text
 * ends there, as it does for COPY and the output functions.  For COPY, all
 * control characters up to \r are flagged, as this takes one comparison,
 * although COPY does not escape some of them.
 */
static pg_attribute_always_inline ByteBlock
flag_special(ByteBlock block, EscapeKind kind)
{
	if (kind == ESCAPE_COPY)
		return byte_block_eq(block, '\\') | byte_block_le(block, '\r');
	return flag_quotes(block) | byte_block_le(block, 0x1f);
}

/* Write one byte, escaped if it is special.  It must not be zero. */
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
 * Copy and escape "len" bytes, or fewer if there is a zero among them, to
 * *written, which must have room for COPY_ESCAPED_SIZE(len) or
 * JSON_ESCAPED_SIZE(len) bytes.  Moves *written to the end of the result, and
 * returns the end of the bytes that were read.
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

/* The same for callers that ignore the bytes after a zero. */
static pg_attribute_always_inline char *
copy_escaping(char *to, const char *from, Size len, EscapeKind kind)
{
	copy_escaping_up_to_zero(&to, from, len, kind);
	return to;
}

/*
 * Does the text contain only ASCII?  Such text is the same in all encodings
 * of servers and clients, so it need not be converted or verified.
 */
extern bool text_is_ascii(const char *string, Size len);

#endif							/* PARDUMP_ESCAPE_H */

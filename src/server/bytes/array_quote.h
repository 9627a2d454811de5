/*-------------------------------------------------------------------------
 *
 * array_quote.h
 *	  The quotes that an element of an array's text needs.
 *
 * The rules are array_out's (src/backend/utils/adt/arrayfuncs.c).  They work
 * on text that already has COPY's escapes, because nothing that asks for
 * quotes is lost in it: a quote, brace, delimiter or space stands for itself,
 * a backslash is two, other white space is a backslash and a letter.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ARRAY_QUOTE_H
#define PARDUMP_ARRAY_QUOTE_H

#include "postgres.h"

#include "bytes/byte_block.h"
#include "bytes/byte_buffer.h"

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
	return byte_block_or(byte_block_eq(block, '"'),
						 byte_block_eq(block, '\\'));
}

static inline ByteBlock
flag_separators(ByteBlock block, char delimiter)
{
	return byte_block_or(byte_block_or(byte_block_eq(block, '{'),
									   byte_block_eq(block, '}')),
						 byte_block_or(byte_block_eq(block, ' '),
									   byte_block_eq(block, delimiter)));
}

/* What does array_out do to this text, which has COPY's escapes? */
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
		quotes = byte_block_or(quotes, flag_quotes(block));
		separators = byte_block_or(separators,
								   flag_separators(block, delimiter));
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
 * this delimiter (',' or ';'), COPY's escapes included.  "*quoted" tells
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

#endif							/* PARDUMP_ARRAY_QUOTE_H */

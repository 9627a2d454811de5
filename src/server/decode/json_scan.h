/*-------------------------------------------------------------------------
 *
 * json_scan.h
 *	  Scans the tokens of JSON.
 *
 * As src/common/jsonapi.c: json_lex().  Each scan_...() reads at *p, advances
 * it behind the token, and returns false if there is no such token.  There is
 * padding behind the end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_JSON_SCAN_H
#define PARDUMP_JSON_SCAN_H

#include "postgres.h"

#include "bytes/escape.h"
#include "bytes/read_digits.h"

/* Deeper values are left to the input functions, which watch the stack. */
#define MAX_JSON_DEPTH	32

static inline const char *
skip_json_space(const char *p, const char *end)
{
	if (likely((unsigned char) *p > ' '))
		return p;
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

/* A character that stands alone, and the white space on both of its sides. */
static inline bool
scan_json_char(const char **p, const char *end, char c)
{
	const char *at = skip_json_space(*p, end);

	if (at == end || *at != c)
		return false;
	*p = skip_json_space(at + 1, end);
	return true;
}

/* A word, "true" and such.  What follows must be another token. */
static inline bool
scan_json_word(const char **p, const char *end, const char *word, Size len)
{
	if (end - *p < (int) len || memcmp(*p, word, len) != 0)
		return false;
	*p += len;
	return true;
}

/* Digits, at least one. */
static inline bool
scan_json_digits(const char **p, const char *end)
{
	const char *start = *p;
	int			n;

	do
	{
		n = count_digits(*p);
		*p += n;
	} while (n == 8 && *p < end);
	*p = Min(*p, end);
	return *p > start;
}

/* A number; *has_exponent tells whether it has an exponent. */
static inline bool
scan_json_number(const char **p, const char *end, bool *has_exponent)
{
	const char *start;

	if (*p < end && **p == '-')
		(*p)++;
	start = *p;
	if (!scan_json_digits(p, end) || (*start == '0' && *p > start + 1))
		return false;
	if (*p < end && **p == '.')
	{
		(*p)++;
		if (!scan_json_digits(p, end))
			return false;
	}
	*has_exponent = *p < end && (**p | 0x20) == 'e';
	if (!*has_exponent)
		return true;
	(*p)++;
	if (*p < end && (**p == '+' || **p == '-'))
		(*p)++;
	return scan_json_digits(p, end);
}

/* The first quote, backslash or control character, or the end. */
static inline const char *
find_json_special(const char *p, const char *end)
{
	for (; p < end; p += BYTE_BLOCK_SIZE)
	{
		ByteBlock	flags = flag_special(byte_block_load(p), ESCAPE_JSON);

		if (byte_block_any(flags))
			return Min(p + byte_block_first(flags), end);
	}
	return end;
}

#endif							/* PARDUMP_JSON_SCAN_H */

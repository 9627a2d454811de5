/*-------------------------------------------------------------------------
 *
 * decode_numeric.c
 *	  Decoder of numeric: from text to the stored base-10000 digits.
 *
 * The stored form is told in encode_numeric.c.  Here only the short one is
 * written: 6 bits of display scale, 7 of weight.  As make_result() does
 * (src/backend/utils/adt/numeric.c), digits that are zero are not stored at
 * either end, and a zero has neither sign nor weight.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "utils/fmgroids.h"

#include "bytes/read_digits.h"
#include "decode/decode_numeric.h"

#define GROUP_DIGITS		4	/* decimal digits in a stored digit */

#define HEADER_SHORT		0x8000
#define HEADER_NEGATIVE		0x2000
#define SCALE_SHIFT			7
#define WEIGHT_MASK			0x007F

/* What the short form can hold. */
#define MAX_SCALE			63
#define MAX_WHOLE_DIGITS	(64 * GROUP_DIGITS)
#define MAX_GROUPS			(64 + (MAX_SCALE + 3) / GROUP_DIGITS)

/* The text's parts: whole digits, and those behind the point. */
typedef struct NumericText
{
	const char *whole;
	Size		n_whole;
	const char *fraction;
	Size		n_fraction;
	bool		negative;
} NumericText;

/* Find the parts.  What they consist of is not looked at, but for zeros. */
static inline bool
split_numeric(NumericText *parts, const char *text, Size len)
{
	const char *point;

	parts->negative = len > 0 && text[0] == '-';
	text += parts->negative;
	len -= parts->negative;
	if (len > MAX_WHOLE_DIGITS + 1 + MAX_SCALE)
		return false;

	point = memchr(text, '.', len);
	parts->whole = text;
	parts->n_whole = point ? point - text : len;
	parts->fraction = point ? point + 1 : NULL;
	parts->n_fraction = point ? len - parts->n_whole - 1 : 0;
	if (parts->n_whole == 0 || (point && parts->n_fraction == 0) ||
		parts->n_fraction > MAX_SCALE)
		return false;
	while (parts->n_whole > 0 && *parts->whole == '0')
	{
		parts->whole++;
		parts->n_whole--;
	}
	return parts->n_whole <= MAX_WHOLE_DIGITS;
}

/*
 * The display scale that the typmod gives, or that the text has if there is
 * no typmod; -1 if the value does not fit or would be rounded.  As
 * apply_typmod(), but for a scale that is negative or above the precision.
 */
static inline int
display_scale(const NumericText *parts, int32 typmod)
{
	int			precision;
	int			scale;

	if (typmod < (int32) VARHDRSZ)
		return parts->n_fraction;
	precision = (typmod - VARHDRSZ) >> 16 & 0xffff;
	/* 11 bits in two's complement */
	scale = (((typmod - (int) VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
	if (scale < 0 || scale > precision || scale > MAX_SCALE ||
		(int) parts->n_fraction > scale ||
		(int) parts->n_whole > precision - scale)
		return -1;
	return scale;
}

/* Read the groups of the whole part, the first of which may be shorter. */
static inline bool
read_whole_groups(const NumericText *parts, int16 *groups)
{
	const char *p = parts->whole;
	const char *end = p + parts->n_whole;
	Size		len = (parts->n_whole - 1) % GROUP_DIGITS + 1;
	uint32		group;

	for (; p < end; p += len, len = GROUP_DIGITS)
	{
		if (!read_uint_8(p, len, &group))
			return false;
		*groups++ = (int16) group;
	}
	return true;
}

/* Read the groups behind the point, the last of which may be shorter. */
static inline bool
read_fraction_groups(const NumericText *parts, int16 *groups)
{
	static const uint32 scales[GROUP_DIGITS] = {1, 1000, 100, 10};
	const char *p = parts->fraction;
	Size		left = parts->n_fraction;
	uint32		group;

	for (; left >= GROUP_DIGITS; left -= GROUP_DIGITS, p += GROUP_DIGITS)
	{
		if (!read_uint_8(p, GROUP_DIGITS, &group))
			return false;
		*groups++ = (int16) group;
	}
	if (left == 0)
		return true;
	if (!read_uint_8(p, left, &group))
		return false;
	*groups = (int16) (group * scales[left]);
	return true;
}

/*
 * What is short, i.e. has up to eight digits, and as many behind the point,
 * comes to four groups in a word.  There is no branch that depends on how
 * many digits or zeros there are, as most of those would be mispredicted.
 */
#define MAX_SHORT	(1 + 8 + 1 + 8)

#ifndef WORDS_BIGENDIAN

/*
 * Read both parts' digits, those behind the point as if there were eight.
 * False as well for a text with zeros that need not be there.
 */
static inline bool
read_short_text(NumericText *parts, const char *text, Size len,
				uint32 *whole, uint32 *fraction)
{
	const char *end = text + len;
	const char *point;
	uint64		values;

	parts->negative = len > 0 && *text == '-';
	text += parts->negative;
	parts->n_whole = Min(count_digits(text), end - text);
	parts->n_fraction = 0;
	*fraction = 0;
	if (parts->n_whole == 0 || (*text == '0' && parts->n_whole > 1))
		return false;
	*whole = number_of_digits(digit_values(text) << (64 - 8 * parts->n_whole));
	point = text + parts->n_whole;
	parts->n_whole -= *whole == 0;
	if (point == end)
		return true;

	parts->n_fraction = end - point - 1;
	if (*point != '.' || parts->n_fraction < 1 || parts->n_fraction > 8)
		return false;
	values = digit_values(point + 1) &
		(PG_UINT64_MAX >> (64 - 8 * parts->n_fraction));
	*fraction = number_of_digits(values);
	return are_digits(values);
}

/* As put_numeric_of_text(). */
static inline Size
put_short_text(char *to, const char *text, Size len, int32 typmod)
{
	NumericText parts;
	uint32		whole;
	uint32		fraction;
	uint64		groups;
	int			scale;
	uint16		header;
	int			first = 0;
	int			end = 0;
	Size		size;

	if (!read_short_text(&parts, text, len, &whole, &fraction))
		return 0;
	scale = display_scale(&parts, typmod);
	if (scale < 0)
		return 0;
	header = HEADER_SHORT | scale << SCALE_SHIFT;
	groups = whole / 10000 | (uint64) (whole % 10000) << 16 |
		(uint64) (fraction / 10000) << 32 | (uint64) (fraction % 10000) << 48;
	if (groups != 0)
	{
		first = pg_rightmost_one_pos64(groups) / 16;
		end = pg_leftmost_one_pos64(groups) / 16 + 1;
		groups >>= 16 * first;
		header |= (parts.negative ? HEADER_NEGATIVE : 0) |
			((1 - first) & WEIGHT_MASK);
	}

	size = VARHDRSZ + sizeof(header) + (end - first) * sizeof(int16);
	SET_VARSIZE(to, size);
	memcpy(to + VARHDRSZ, &header, sizeof(header));
	memcpy(to + VARHDRSZ + sizeof(header), &groups, sizeof(groups));
	return size;
}

#else

static inline Size
put_short_text(char *to, const char *text, Size len, int32 typmod)
{
	return 0;
}

#endif

Size
put_numeric_of_text(char *to, const char *text, Size len, int32 typmod)
{
	NumericText parts;
	int16		groups[MAX_GROUPS];
	int			n_whole_groups;
	int			first = 0;
	int			end;
	int			scale;
	uint16		header;
	Size		size = len <= MAX_SHORT ? put_short_text(to, text, len, typmod) : 0;

	if (size > 0)
		return size;
	if (!split_numeric(&parts, text, len))
		return 0;
	scale = display_scale(&parts, typmod);
	n_whole_groups = (parts.n_whole + GROUP_DIGITS - 1) / GROUP_DIGITS;
	end = n_whole_groups + (parts.n_fraction + GROUP_DIGITS - 1) / GROUP_DIGITS;
	if (scale < 0 || !read_whole_groups(&parts, groups) ||
		!read_fraction_groups(&parts, groups + n_whole_groups))
		return 0;

	while (first < end && groups[first] == 0)
		first++;
	while (end > first && groups[end - 1] == 0)
		end--;
	header = HEADER_SHORT | scale << SCALE_SHIFT;
	if (first < end)
		header |= (parts.negative ? HEADER_NEGATIVE : 0) |
			((n_whole_groups - first - 1) & WEIGHT_MASK);

	size = VARHDRSZ + sizeof(header) + (end - first) * sizeof(int16);
	SET_VARSIZE(to, size);
	memcpy(to + VARHDRSZ, &header, sizeof(header));
	memcpy(to + VARHDRSZ + sizeof(header), groups + first,
		   (end - first) * sizeof(int16));
	return size;
}

static bool
decode_numeric(ColumnDecoder *decoder, const char *text, Size len,
			   Datum *value)
{
	char	   *to;

	if (len > 1 + MAX_WHOLE_DIGITS + 1 + MAX_SCALE)
		return false;
	to = value_alloc(decoder, NUMERIC_ROOM(len));
	*value = PointerGetDatum(to);
	return put_numeric_of_text(to, text, len, decoder->typmod) > 0;
}

DecodeFunction
numeric_decoder(Oid input_function, ColumnDecoder *decoder)
{
	return input_function == F_NUMERIC_IN ? decode_numeric : NULL;
}

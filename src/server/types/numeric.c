/*-------------------------------------------------------------------------
 *
 * numeric.c
 *	  Encoder and decoder of numeric.
 *
 * choose.c finds them by the type's functions, and jsonb.c uses both for the
 * numbers in a jsonb.  The code follows src/backend/utils/adt/numeric.c, but
 * converts between the text and the stored digits without the intermediate
 * form (NumericVar) that the server allocates for each value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgroids.h"

#include "bytes/digits.h"
#include "types/family.h"

/* ----------
 * Encoders of numeric: convert the stored base-10000 digits to text, and to
 * the result of numeric_send().
 *
 * The stored form is private to numeric.c (NumericShort, NumericLong), but
 * fixed, because it is on disk.  A header word follows the varlena header.
 * Its two highest bits determine the form of the rest:
 *
 * 00, 01: long form, positive or negative; 14 bits of display scale, then the
 * weight as an int16
 *
 * 10: short form; the sign in bit 13, 6 bits of display scale, and 7 bits of
 * weight in two's complement
 *
 * 11: special values; 0xC000 NaN, 0xD000 Infinity, 0xF000 -Infinity
 *
 * The digits follow, each one an int16.  The first one counts multiples of
 * 10000 ^ weight.  Digits that are not stored are zero.  A stored digit is
 * called a group here, as it contains four decimal digits.
 * ----------
 */

#define GROUP_DIGITS		4	/* decimal digits in a group */
#define GROUP_BASE			10000

#define HEADER_FORM			0xC000
#define HEADER_SHORT		0x8000
#define HEADER_SPECIAL		0xC000
#define HEADER_LONG_NEG		0x4000
#define HEADER_PINF			0xD000
#define HEADER_NINF			0xF000

typedef struct NumericParts
{
	const char *digits;			/* n_groups unaligned int16 */
	int			n_groups;
	int			weight;			/* of the first group */
	int			dscale;			/* decimal digits after the point */
	bool		negative;
} NumericParts;

static inline uint16
read_uint16(const char *p)
{
	uint16		word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/*
 * Return the header word, or raise an error if the value is too short for its
 * header.  The word is copied, as it is not aligned after a short varlena
 * header.
 */
static inline uint16
read_header(const struct varlena *num)
{
	Size		size = VARSIZE_ANY_EXHDR(num);
	uint16		header = 0;

	if (likely(size >= sizeof(uint16)))
		header = read_uint16(VARDATA_ANY(num));
	if (unlikely(!(header & HEADER_SHORT) && size < 2 * sizeof(uint16)))
		damaged_value("numeric");
	return header;
}

/*
 * Split a value into its parts.  The digits and the sign of a special value
 * have no meaning.
 */
static inline void
numeric_parts(NumericParts *parts, uint16 header, const char *data, Size size)
{
	Size		header_size;

	if (header & HEADER_SHORT)
	{
		header_size = sizeof(uint16);
		parts->negative = (header & 0x2000) != 0;
		parts->dscale = (header & 0x1F80) >> 7;
		parts->weight = (int) (header & 0x003F) - (int) (header & 0x0040);
	}
	else
	{
		header_size = sizeof(uint16) + sizeof(int16);
		parts->negative = (header & HEADER_FORM) == HEADER_LONG_NEG;
		parts->dscale = header & 0x3FFF;
		parts->weight = (int16) read_uint16(data + sizeof(uint16));
	}
	parts->digits = data + header_size;
	parts->n_groups = (size - header_size) / sizeof(int16);
}

/*
 * Return the stored group at "index".  A group of 10000 or more is damage,
 * and would lead beyond the end of the tables of digits.
 */
static inline uint32
stored_group(const NumericParts *parts, int index)
{
	uint32		group = read_uint16(parts->digits + index * sizeof(int16));

	if (unlikely(group >= GROUP_BASE))
		damaged_value("numeric");
	return group;
}

/* Return the group at "index", or 0 if it is not stored. */
static inline uint32
group_at(const NumericParts *parts, int index)
{
	if (index < 0 || index >= parts->n_groups)
		return 0;
	return stored_group(parts, index);
}

/*
 * Write the digits of a numeric.  12345.678, for example, is stored as the
 * groups 1, 2345 and 6780 with weight 1 and display scale 3.  The groups of
 * the weights 1 and 0 precede the point, and three digits of the last group
 * are written.  The first group is written without leading zeros, all others
 * with them.
 */
static inline char *
put_numeric(char *p, const NumericParts *parts)
{
	int			index;
	char	   *end;

	if (parts->negative)
		*p++ = '-';

	if (parts->weight < 0)
		*p++ = '0';
	else
	{
		p = put_uint_8(p, group_at(parts, 0));
		for (index = 1; index <= parts->weight; index++)
			p = put_4_digits(p, group_at(parts, index));
	}
	if (parts->dscale == 0)
		return p;

	/* the last group may have more digits than the display scale allows */
	*p++ = '.';
	end = p + parts->dscale;
	for (index = parts->weight + 1; p < end; index++)
		p = put_4_digits(p, group_at(parts, index));
	return end;
}

/* Append NaN or an infinity, as numeric_out() writes them. */
static inline char *
append_special(ByteBuffer *out, char *to, uint16 header)
{
	if (header == HEADER_PINF)
		return byte_buffer_append(out, to, "Infinity", 8);
	if (header == HEADER_NINF)
		return byte_buffer_append(out, to, "-Infinity", 9);
	return byte_buffer_append(out, to, "NaN", 3);
}

char *
append_numeric(ByteBuffer *out, char *to, Numeric num)
{
	const char *data = VARDATA_ANY(num);
	uint16		header = read_header((const struct varlena *) num);
	NumericParts parts;
	int			whole_digits;

	if (unlikely((header & HEADER_FORM) == HEADER_SPECIAL))
		return append_special(out, to, header);
	numeric_parts(&parts, header, data, VARSIZE_ANY_EXHDR(num));

	/* sign, digits, point, and bytes written beyond the last digit */
	whole_digits = Max(parts.weight + 1, 1) * GROUP_DIGITS;
	to = byte_buffer_reserve(out, to,
							 whole_digits + parts.dscale + DIGITS_SLACK + 2);
	return put_numeric(to, &parts);
}

static char *
encode_numeric(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return append_numeric(out, to, (Numeric) DatumGetPointer(value));
}

/*
 * The binary form: the fields of the header, 16 bits each, and the groups.
 * For a special value, numeric_send() takes scale and weight from the bits of
 * the header, although they have no meaning, and so does this.
 */
static char *
send_numeric(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const struct varlena *num = (struct varlena *) DatumGetPointer(value);
	uint16		header = read_header(num);
	NumericParts parts;
	uint16		sign;

	numeric_parts(&parts, header, VARDATA_ANY(num), VARSIZE_ANY_EXHDR(num));
	if ((header & HEADER_FORM) == HEADER_SPECIAL)
		sign = header & HEADER_NINF;
	else
		sign = parts.negative ? HEADER_LONG_NEG : 0;

	/* stored groups are in the server's byte order, sent ones in network's */
	to = byte_buffer_reserve(out, to, (4 + parts.n_groups) * sizeof(int16));
	to = put_network_16(to, parts.n_groups);
	to = put_network_16(to, parts.weight);
	to = put_network_16(to, sign);
	to = put_network_16(to, parts.dscale);
	for (int i = 0; i < parts.n_groups; i++)
		to = put_network_16(to, stored_group(&parts, i));
	return to;
}

const EncoderRow numeric_encoders[] = {
	{F_NUMERIC_OUT, encode_numeric,.never_quoted = true},
	{F_NUMERIC_SEND, send_numeric},
	{InvalidOid}
};

/* ----------
 * Decoder of numeric: converts text to the stored base-10000 digits.
 *
 * It writes only the short form, with 6 bits of display scale and 7 of
 * weight.  Longer numbers are left to numeric_in().  Like make_result() of
 * numeric.c, it does not store groups of zero at either end, and a zero has
 * neither sign nor weight.
 * ----------
 */

#define HEADER_NEGATIVE		0x2000
#define SCALE_SHIFT			7
#define WEIGHT_MASK			0x007F

/* The limits of the short form. */
#define MAX_SCALE			63
#define MAX_WHOLE_DIGITS	(64 * GROUP_DIGITS)
#define MAX_GROUPS			(64 + (MAX_SCALE + 3) / GROUP_DIGITS)

/* The parts of a text: the digits before the point, and those after it. */
typedef struct NumericText
{
	const char *whole;
	Size		n_whole;
	const char *fraction;
	Size		n_fraction;
	bool		negative;
} NumericText;

/*
 * Split a text into its parts, without leading zeros.  Returns false if the
 * text is too long or a part is empty.  Whether the parts consist of digits
 * is checked when they are read.
 */
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
 * Return the display scale of the typmod, or that of the text if there is no
 * typmod.  Returns -1 if the value does not fit or would be rounded, or if
 * the scale of the typmod is negative or above the precision; apply_typmod()
 * handles these cases.
 */
static inline int
display_scale(const NumericText *parts, int32 typmod)
{
	int			precision;
	int			scale;

	/* numeric.c:make_numeric_typmod() has the layout of the typmod */
	if (typmod < (int32) VARHDRSZ)
		return parts->n_fraction;
	precision = (typmod - VARHDRSZ) >> 16 & 0xffff;
	/* the scale has 11 bits, in two's complement */
	scale = (((typmod - (int) VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
	if (scale < 0 || scale > precision || scale > MAX_SCALE ||
		(int) parts->n_fraction > scale ||
		(int) parts->n_whole > precision - scale)
		return -1;
	return scale;
}

/* Read the groups before the point; the first one may have fewer digits. */
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

/* Read the groups after the point; the last one may have fewer digits. */
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
 * A short text has up to eight digits before the point and up to eight after
 * it, which make four groups in a word.  The code for short texts has no
 * branch that depends on the number of digits or zeros, as most of these
 * branches would be mispredicted.
 */
#ifdef WORDS_BIGENDIAN
#define MAX_SHORT	0			/* the groups in a word have another order */
#else
#define MAX_SHORT	(1 + 8 + 1 + 8)
#endif

/*
 * Read the digits of both parts of a short text.  If the part after the point
 * has fewer than eight digits, *fraction is the number with zeros appended.
 * Returns false if the text is not short, or has unnecessary leading zeros.
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

/* The same as put_numeric_of_text(), for a short text only. */
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

	/*
	 * A word contains four groups of 16 bits, the first one in its lowest
	 * bits, which is their order in memory.  Groups of zero at either end are
	 * not stored.  The first group that is stored determines the weight: it
	 * is 1 for the first of the four groups and -2 for the last one.
	 */
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
	/* all eight bytes are stored at once; NUMERIC_ROOM() has room for them */
	memcpy(to + VARHDRSZ + sizeof(header), &groups, sizeof(groups));
	return size;
}

/*
 * Most numbers are short, and are converted in registers.  Longer ones are
 * read group by group into an array, which is stored without the groups of
 * zero at its ends.
 */
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

	/* tested before memory is allocated, as a text may be very long */
	if (len > 1 + MAX_WHOLE_DIGITS + 1 + MAX_SCALE)
		return false;
	to = value_alloc(decoder, NUMERIC_ROOM(len));
	*value = PointerGetDatum(to);
	return put_numeric_of_text(to, text, len, decoder->typmod) > 0;
}

const DecoderRow numeric_decoders[] = {
	{F_NUMERIC_IN, decode_numeric},
	{InvalidOid}
};

/*-------------------------------------------------------------------------
 *
 * encode_numeric.c
 *	  Encoders of numeric: from the stored base-10000 digits to text, and to
 *	  what numeric_send() returns.
 *
 * The stored form is private to src/backend/utils/adt/numeric.c (see
 * NumericShort, NumericLong there) but fixed, because it is on disk.  Behind
 * the varlena header stands a header word.  Its two highest bits tell the
 * form:
 *
 *	00, 01	long, positive or negative: 14 bits of display scale, then the
 *			weight as an int16
 *	10 short: sign in bit 13, 6 bits of display scale, 7 bits of weight in
 *			two's complement
 *	11		special: 0xC000 NaN, 0xD000 Infinity, 0xF000 -Infinity
 *
 * The digits follow, int16 each, the first one counts 10000 ^ weight.  Digits
 * that are not stored are zero.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgroids.h"

#include "bytes/digits.h"
#include "bytes/network_order.h"
#include "bytes/packed_varlena.h"
#include "encode/encode_numeric.h"

#define GROUP_DIGITS		4	/* decimal digits in a stored digit */
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
	int			dscale;			/* decimal digits behind the point */
	bool		negative;
} NumericParts;

static inline uint16
read_uint16(const char *p)
{
	uint16		word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/* The header word; all of the header lies within the value. */
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

/* Of a special value the digits and the sign mean nothing. */
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
 * The stored group at "index".  One that is not below 10000 would index the
 * digit tables beyond their end, and no server would load it.
 */
static inline uint32
stored_group(const NumericParts *parts, int index)
{
	uint32		group = read_uint16(parts->digits + index * sizeof(int16));

	if (unlikely(group >= GROUP_BASE))
		damaged_value("numeric");
	return group;
}

/* The group at "index", 0 if it is not stored. */
static inline uint32
group_at(const NumericParts *parts, int index)
{
	if (index < 0 || index >= parts->n_groups)
		return 0;
	return stored_group(parts, index);
}

static inline char *
put_first_group(char *p, uint32 group)
{
	if (group >= 1000)
		return put_4_digits(p, group);
	if (group >= 100)
	{
		*p++ = '0' + group / 100;
		return put_2_digits(p, group % 100);
	}
	if (group >= 10)
		return put_2_digits(p, group);
	*p++ = '0' + group;
	return p;
}

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
		p = put_first_group(p, group_at(parts, 0));
		for (index = 1; index <= parts->weight; index++)
			p = put_4_digits(p, group_at(parts, index));
	}
	if (parts->dscale == 0)
		return p;

	/* The last group may stand beyond the display scale and is cut there. */
	*p++ = '.';
	end = p + parts->dscale;
	for (index = parts->weight + 1; p < end; index++)
		p = put_4_digits(p, group_at(parts, index));
	return end;
}

static inline char *
append_special(ByteBuffer *out, char *to, uint16 header)
{
	if (header == HEADER_PINF)
		return byte_buffer_append(out, to, "Infinity", 8);
	if (header == HEADER_NINF)
		return byte_buffer_append(out, to, "-Infinity", 9);
	return byte_buffer_append(out, to, "NaN", 3);
}

static inline char *
append_packed_numeric(ByteBuffer *out, char *to, const struct varlena *num)
{
	const char *data = VARDATA_ANY(num);
	uint16		header = read_header(num);
	NumericParts parts;
	int			whole_digits;

	if (unlikely((header & HEADER_FORM) == HEADER_SPECIAL))
		return append_special(out, to, header);
	numeric_parts(&parts, header, data, VARSIZE_ANY_EXHDR(num));

	/* sign, digits, point, and what the last group has too much */
	whole_digits = Max(parts.weight + 1, 1) * GROUP_DIGITS;
	to = byte_buffer_reserve(out, to,
							 whole_digits + parts.dscale + GROUP_DIGITS + 2);
	return put_numeric(to, &parts);
}

char *
append_numeric(ByteBuffer *out, char *to, Numeric num)
{
	return append_packed_numeric(out, to, (const struct varlena *) num);
}

static char *
encode_numeric(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	struct varlena *num = packed_varlena(value);

	to = append_packed_numeric(out, to, num);
	packed_varlena_release(num, value);
	return to;
}

/*
 * The header's fields, 16 bits each, and the digits.  Of a special value the
 * scale and the weight are what its header's bits happen to be.
 */
static char *
send_numeric(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	struct varlena *num = packed_varlena(value);
	uint16		header = read_header(num);
	NumericParts parts;
	uint16		sign;

	numeric_parts(&parts, header, VARDATA_ANY(num), VARSIZE_ANY_EXHDR(num));
	if ((header & HEADER_FORM) == HEADER_SPECIAL)
		sign = header & HEADER_NINF;
	else
		sign = parts.negative ? HEADER_LONG_NEG : 0;

	to = byte_buffer_reserve(out, to, (4 + parts.n_groups) * sizeof(int16));
	to = put_network_16(to, parts.n_groups);
	to = put_network_16(to, parts.weight);
	to = put_network_16(to, sign);
	to = put_network_16(to, parts.dscale);
	for (int i = 0; i < parts.n_groups; i++)
		to = put_network_16(to, stored_group(&parts, i));
	packed_varlena_release(num, value);
	return to;
}

EncodeFunction
numeric_encoder(Oid type_function)
{
	switch (type_function)
	{
		case F_NUMERIC_OUT:
			return encode_numeric;
		case F_NUMERIC_SEND:
			return send_numeric;
		default:
			return NULL;
	}
}

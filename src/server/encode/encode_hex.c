/*-------------------------------------------------------------------------
 *
 * encode_hex.c
 *	  Encoders of types that are written as hexadecimal digits: uuid, bytea,
 *	  macaddr, macaddr8.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/bytea.h"
#include "utils/fmgroids.h"
#include "utils/inet.h"
#include "utils/uuid.h"

#include "bytes/hex_digits.h"
#include "bytes/packed_varlena.h"
#include "encode/encode_hex.h"

#define UUID_TEXT_LEN		(2 * UUID_LEN + 4)

/*
 * Longer bytea values are written in pieces of this size, a multiple of 16.
 */
#define HEX_PIECE			65536

static char *
encode_uuid(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	char		digits[2 * UUID_LEN];

	put_hex_16(digits, DatumGetUUIDP(value)->data);
	memcpy(to, digits, 8);
	to[8] = '-';
	memcpy(to + 9, digits + 8, 4);
	to[13] = '-';
	memcpy(to + 14, digits + 12, 4);
	to[18] = '-';
	memcpy(to + 19, digits + 16, 4);
	to[23] = '-';
	memcpy(to + 24, digits + 20, 12);
	return to + UUID_TEXT_LEN;
}

/*
 * bytea_output = hex: "\x" and the digits; COPY doubles the backslash.  More
 * than half a gigabyte fails in byteaout(); here the text grows beyond 1 GB,
 * which is the row encoder's to refuse.
 */
static char *
encode_bytea(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	struct varlena *packed;
	const uint8 *bytes;
	Size		len;

	if (unlikely(bytea_output != BYTEA_OUTPUT_HEX))
		return encode_by_type_function(encoder, value, out, to);
	packed = packed_varlena(value);
	bytes = (const uint8 *) VARDATA_ANY(packed);
	len = VARSIZE_ANY_EXHDR(packed);
	to = byte_buffer_reserve(out, to, 2 * len + 3);
	memcpy(to, "\\\\x", 3);
	to += 3;
	for (; len > HEX_PIECE; len -= HEX_PIECE)
	{
		CHECK_FOR_INTERRUPTS(); /* there may be half a gigabyte of it */
		for (int i = 0; i < HEX_PIECE; i += 16, bytes += 16)
			to = put_hex_16(to, bytes);
	}
	for (; len >= 16; len -= 16, bytes += 16)
		to = put_hex_16(to, bytes);
	for (; len > 0; len--)
		to = put_hex_byte(to, *bytes++);

	packed_varlena_release(packed, value);
	return to;
}

static inline char *
put_hex_with_colons(char *p, const uint8 *bytes, int len)
{
	p = put_hex_byte(p, bytes[0]);
	for (int i = 1; i < len; i++)
	{
		*p++ = ':';
		p = put_hex_byte(p, bytes[i]);
	}
	return p;
}

static char *
encode_macaddr(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const uint8 *bytes = (const uint8 *) DatumGetMacaddrP(value);

	return put_hex_with_colons(to, bytes, sizeof(macaddr));
}

static char *
encode_macaddr8(ColumnEncoder *encoder, Datum value, ByteBuffer *out,
				char *to)
{
	const uint8 *bytes = (const uint8 *) DatumGetMacaddr8P(value);

	return put_hex_with_colons(to, bytes, sizeof(macaddr8));
}

EncodeFunction
hex_encoder(Oid type_function)
{
	switch (type_function)
	{
		case F_UUID_OUT:
			return encode_uuid;
		case F_BYTEAOUT:
			return encode_bytea;
		case F_MACADDR_OUT:
			return encode_macaddr;
		case F_MACADDR8_OUT:
			return encode_macaddr8;
		default:
			return NULL;
	}
}

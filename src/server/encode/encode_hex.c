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

static void
encode_uuid(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	char	   *p = byte_buffer_reserve(out, UUID_TEXT_LEN);
	char		digits[2 * UUID_LEN];

	put_hex_16(digits, DatumGetUUIDP(value)->data);
	memcpy(p, digits, 8);
	p[8] = '-';
	memcpy(p + 9, digits + 8, 4);
	p[13] = '-';
	memcpy(p + 14, digits + 12, 4);
	p[18] = '-';
	memcpy(p + 19, digits + 16, 4);
	p[23] = '-';
	memcpy(p + 24, digits + 20, 12);
	byte_buffer_commit(out, p + UUID_TEXT_LEN);
}

/*
 * bytea_output = hex: "\x" and the digits; COPY doubles the backslash.  More
 * than half a gigabyte fails in byteaout(); here the text grows beyond 1 GB,
 * which is the row encoder's to refuse.
 */
static void
encode_bytea(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	struct varlena *packed = packed_varlena(value);
	const uint8 *bytes = (const uint8 *) VARDATA_ANY(packed);
	Size		len = VARSIZE_ANY_EXHDR(packed);
	char	   *p = byte_buffer_reserve(out, 2 * len + 3);

	memcpy(p, "\\\\x", 3);
	p += 3;
	for (; len > HEX_PIECE; len -= HEX_PIECE)
	{
		CHECK_FOR_INTERRUPTS(); /* there may be half a gigabyte of it */
		for (int i = 0; i < HEX_PIECE; i += 16, bytes += 16)
			p = put_hex_16(p, bytes);
	}
	for (; len >= 16; len -= 16, bytes += 16)
		p = put_hex_16(p, bytes);
	for (; len > 0; len--)
		p = put_hex_byte(p, *bytes++);

	byte_buffer_commit(out, p);
	packed_varlena_release(packed, value);
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

static void
encode_macaddr(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	char	   *p = byte_buffer_reserve(out, 3 * sizeof(macaddr));
	const uint8 *bytes = (const uint8 *) DatumGetMacaddrP(value);

	byte_buffer_commit(out, put_hex_with_colons(p, bytes, sizeof(macaddr)));
}

static void
encode_macaddr8(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	char	   *p = byte_buffer_reserve(out, 3 * sizeof(macaddr8));
	const uint8 *bytes = (const uint8 *) DatumGetMacaddr8P(value);

	byte_buffer_commit(out, put_hex_with_colons(p, bytes, sizeof(macaddr8)));
}

EncodeFunction
hex_encoder(Oid type_function)
{
	switch (type_function)
	{
		case F_UUID_OUT:
			return encode_uuid;
		case F_BYTEAOUT:
			return bytea_output == BYTEA_OUTPUT_HEX ? encode_bytea : NULL;
		case F_MACADDR_OUT:
			return encode_macaddr;
		case F_MACADDR8_OUT:
			return encode_macaddr8;
		default:
			return NULL;
	}
}

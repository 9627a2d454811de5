/*-------------------------------------------------------------------------
 *
 * decode_hex.c
 *	  Decoders of types that are written as hexadecimal digits: uuid, bytea,
 *	  macaddr, macaddr8.
 *
 * Only what the output functions write: a uuid with its four hyphens, bytea
 * in hexadecimal form without white space, addresses with colons.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/inet.h"
#include "utils/uuid.h"

#include "bytes/read_hex.h"
#include "decode/decode_hex.h"

#define UUID_TEXT_LEN		(2 * UUID_LEN + 4)

/* Digits between two looks for an interrupt, a multiple of 16. */
#define HEX_PIECE			(1024 * 1024)

static bool
decode_uuid(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	char		digits[2 * UUID_LEN];
	pg_uuid_t  *uuid;

	if (len != UUID_TEXT_LEN || text[8] != '-' || text[13] != '-' ||
		text[18] != '-' || text[23] != '-')
		return false;
	memcpy(digits, text, 8);
	memcpy(digits + 8, text + 9, 4);
	memcpy(digits + 12, text + 14, 4);
	memcpy(digits + 16, text + 19, 4);
	memcpy(digits + 20, text + 24, 12);

	uuid = value_alloc(decoder, sizeof(pg_uuid_t));
	*value = PointerGetDatum(uuid);
	return read_hex_8(digits, uuid->data) &&
		read_hex_8(digits + 16, uuid->data + 8);
}

static inline bool
read_hex(const char *p, Size n_digits, uint8 *to)
{
	for (; n_digits >= 16; p += 16, to += 8, n_digits -= 16)
	{
		if (unlikely(!read_hex_8(p, to)))
			return false;
	}
	for (; n_digits > 0; p += 2, to++, n_digits -= 2)
	{
		if (!read_hex_byte(p, to))
			return false;
	}
	return true;
}

static bool
decode_bytea(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	struct varlena *result;
	uint8	   *to;

	if (len < 2 || len % 2 != 0 || text[0] != '\\' || text[1] != 'x')
		return false;
	text += 2;
	len -= 2;
	result = value_alloc(decoder, len / 2 + VARHDRSZ);
	SET_VARSIZE(result, len / 2 + VARHDRSZ);
	*value = PointerGetDatum(result);

	to = (uint8 *) VARDATA(result);
	for (; len > HEX_PIECE; len -= HEX_PIECE)
	{
		CHECK_FOR_INTERRUPTS();
		if (!read_hex(text, HEX_PIECE, to))
			return false;
		text += HEX_PIECE;
		to += HEX_PIECE / 2;
	}
	return read_hex(text, len, to);
}

/* Bytes with colons between them. */
static inline bool
decode_hex_with_colons(ColumnDecoder *decoder, const char *text, Size len,
					   int n_bytes, Datum *value)
{
	uint8	   *bytes;

	if (len != 3 * n_bytes - 1)
		return false;
	bytes = value_alloc(decoder, n_bytes);
	for (int i = 0; i < n_bytes; i++, text += 3)
	{
		if (!read_hex_byte(text, &bytes[i]) ||
			(i + 1 < n_bytes && text[2] != ':'))
			return false;
	}
	*value = PointerGetDatum(bytes);
	return true;
}

static bool
decode_macaddr(ColumnDecoder *decoder, const char *text, Size len,
			   Datum *value)
{
	return decode_hex_with_colons(decoder, text, len, sizeof(macaddr), value);
}

static bool
decode_macaddr8(ColumnDecoder *decoder, const char *text, Size len,
				Datum *value)
{
	return decode_hex_with_colons(decoder, text, len, sizeof(macaddr8), value);
}

DecodeFunction
hex_decoder(Oid input_function, ColumnDecoder *decoder)
{
	switch (input_function)
	{
		case F_UUID_IN:
			return decode_uuid;
		case F_BYTEAIN:
			return decode_bytea;
		case F_MACADDR_IN:
			return decode_macaddr;
		case F_MACADDR8_IN:
			return decode_macaddr8;
		default:
			return NULL;
	}
}

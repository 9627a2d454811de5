/*-------------------------------------------------------------------------
 *
 * text.c
 *	  Encoders and decoders of text types, enums, bytea, uuid and MAC
 *	  addresses.
 *
 * choose.c finds them by the types' functions.  The texts of the first group
 * are stored as they are, so they only have to be converted and escaped
 * (column.c).  Those of the last group are hexadecimal digits
 * (bytes/digits.h).  The labels of enums are in a catalog, and are cached
 * here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/bytea.h"
#include "utils/fmgroids.h"
#include "utils/inet.h"
#include "utils/inval.h"
#include "utils/syscache.h"
#include "utils/uuid.h"

#include "bytes/digits.h"
#include "bytes/escape.h"
#include "types/family.h"

/* ----------
 * Encoders of the types whose value is their text, and of enums.
 * ----------
 */

/* for textout(), textsend() and similar functions, which copy the bytes */
static char *
encode_text(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const char *text = DatumGetPointer(value);

	return append_text(out, to, VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text),
					   encoder->settings);
}

/*
 * xml_out() changes a value that begins with an XML declaration or a newline
 * (src/backend/utils/adt/xml.c: xml_out_internal, parse_xml_decl).  It copies
 * all other values, as this does.
 */
static char *
encode_xml(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const char *bytes = VARDATA_ANY(DatumGetPointer(value));
	Size		len = VARSIZE_ANY_EXHDR(DatumGetPointer(value));

	if (len > 0 &&
		(bytes[0] == '\n' || (len >= 5 && memcmp(bytes, "<?xml", 5) == 0)))
		return encode_by_type_function(encoder, value, out, to);
	return append_text(out, to, bytes, len, encoder->settings);
}

static char *
encode_name(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const char *name = NameStr(*DatumGetName(value));

	/* a damaged name may have no zero at its end */
	return append_text(out, to, name, strnlen(name, NAMEDATALEN),
					   encoder->settings);
}

/*
 * for "char": a zero is an empty text, and other ASCII is copied.  The text
 * of bytes that are not ASCII depends on the major version.
 */
static char *
encode_char(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	char		c = DatumGetChar(value);

	if (IS_HIGHBIT_SET(c))
		return encode_by_type_function(encoder, value, out, to);
	return c != '\0' ? put_escaped_byte(to, c, ESCAPE_COPY) : to;
}

/*
 * A cache for the texts of an enum's values.  A text is valid until a label
 * of any enum changes, which includes the rollback of a subtransaction that
 * renamed one.  The OID of a value determines its slot.  Of two values with
 * the same slot only the last one is cached, so the memory is limited.
 */
#define ENUM_CACHE_SLOTS	128

typedef struct EnumText
{
	Oid			value;
	uint64		version;		/* enum_version when it was looked up */
	uint32		len;
	char	   *label;			/* owned; as COPY writes it; NULL if the slot
								 * is empty */
} EnumText;

/* How many times labels may have changed in this session. */
static uint64 enum_version = 0;

/* A syscache callback, which invalidates the caches of all encoders. */
static void
enum_changed(Datum arg, int cache, uint32 hash)
{
	enum_version++;
}

/* Create the cache of an encoder, and once the callback for all caches. */
static EnumText *
enum_cache_new(MemoryContext context)
{
	static bool is_registered = false;

	/*
	 * The server has few slots for such callbacks, and they cannot be
	 * removed, so one is registered for all reads of the session.  The server
	 * also calls it when a subtransaction that changed a label is rolled
	 * back.
	 */
	if (!is_registered)
		CacheRegisterSyscacheCallback(ENUMOID, enum_changed, (Datum) 0);
	is_registered = true;
	return MemoryContextAllocZero(context, ENUM_CACHE_SLOTS * sizeof(EnumText));
}

/* Look up the text of a value and store it in the slot. */
static pg_noinline void
enum_cache_fill(ColumnEncoder *encoder, EnumText *slot, Oid value)
{
	uint64		version = enum_version; /* may change while it is looked up */
	ByteBuffer	buf;
	char	   *end;
	char	   *kept;

	/*
	 * The label is cached as COPY writes it, converted and escaped, so that
	 * this is done once for each value.  The type's function may raise an
	 * error, so the slot is changed only after the call.
	 */
	byte_buffer_init(&buf, 8 * NAMEDATALEN);
	end = encode_by_type_function(encoder, ObjectIdGetDatum(value), &buf,
								  byte_buffer_place(&buf));
	byte_buffer_commit(&buf, end);
	kept = MemoryContextAlloc(encoder->type_function.fn_mcxt, buf.len + 1);
	memcpy(kept, buf.data, buf.len);

	if (slot->label != NULL)
		pfree(slot->label);
	slot->value = value;
	slot->version = version;
	slot->len = buf.len;
	slot->label = kept;
	pfree(buf.data);
}

/*
 * enum_out() and enum_send() look up the label in the syscache for each
 * value, and then it would have to be converted and escaped.
 */
static char *
encode_enum(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	Oid			oid = DatumGetObjectId(value);
	EnumText   *slot;

	/* allocated in the encoder's context, as that of the row is reset */
	if (unlikely(encoder->state == NULL))
		encoder->state = enum_cache_new(encoder->type_function.fn_mcxt);

	/* CREATE TYPE assigns only even OIDs to its values (pg_enum.c) */
	slot = (EnumText *) encoder->state + oid / 2 % ENUM_CACHE_SLOTS;
	if (unlikely(slot->value != oid || slot->version != enum_version ||
				 slot->label == NULL))
		enum_cache_fill(encoder, slot, oid);
	return byte_buffer_append(out, to, slot->label, slot->len);
}

/* ----------
 * Decoders of the types whose value is their text.
 *
 * They do the same as textin() (src/backend/utils/adt/varlena.c), varcharin()
 * and bpcharin() (varchar.c), namein() (name.c) and charin() (char.c).
 * ----------
 */

static bool
decode_text(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	struct varlena *result = varlena_alloc(decoder, len);

	memcpy(VARDATA(result), text, len);
	*value = PointerGetDatum(result);
	return true;
}

/* Count the characters of a text. */
static inline Size
text_characters(const char *text, Size len)
{
	if (text_is_ascii(text, len))
		return len;
	return pg_mbstrlen_with_len(text, len);
}

/*
 * for varchar(n).  A text that is too long is left to varcharin(), which cuts
 * off spaces at its end, or raises an error.
 */
static bool
decode_varchar(ColumnDecoder *decoder, const char *text, Size len,
			   Datum *value)
{
	Size		max = decoder->typmod - VARHDRSZ;

	/* a text has at most as many characters as bytes */
	return (len <= max || text_characters(text, len) <= max) &&
		decode_text(decoder, text, len, value);
}

/* for char(n), whose values are filled up with spaces */
static bool
decode_bpchar(ColumnDecoder *decoder, const char *text, Size len,
			  Datum *value)
{
	Size		max = decoder->typmod - VARHDRSZ;
	Size		characters = text_characters(text, len);
	struct varlena *result;

	if (characters > max)
		return false;
	result = varlena_alloc(decoder, len + max - characters);
	memcpy(VARDATA(result), text, len);
	memset(VARDATA(result) + len, ' ', max - characters);
	*value = PointerGetDatum(result);
	return true;
}

/* A longer name is left to namein(), which cuts it off between characters. */
static bool
decode_name(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	char	   *name;

	if (len >= NAMEDATALEN)
		return false;
	name = value_alloc(decoder, NAMEDATALEN);
	memset(name, 0, NAMEDATALEN);
	memcpy(name, text, len);
	*value = PointerGetDatum(name);
	return true;
}

/*
 * for "char": an empty text is a zero.  The value of a text of several bytes
 * depends on the major version.
 */
static bool
decode_char(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	*value = CharGetDatum(len == 0 ? '\0' : text[0]);
	return len == 0 || (len == 1 && !IS_HIGHBIT_SET(text[0]));
}

/* ----------
 * Encoders of types that are written as hexadecimal digits: uuid, bytea,
 * macaddr, macaddr8.
 * ----------
 */

#define UUID_TEXT_LEN		(2 * UUID_LEN + 4)

/*
 * The bytes of a bytea that are written between two tests for an interrupt; a
 * multiple of 16.
 */
#define HEX_PIECE			65536

static char *
encode_uuid(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	char		digits[2 * UUID_LEN];

	/*
	 * Make all digits at once, then copy them to their places between the
	 * hyphens.  The lengths are constant, so no memcpy() is a call.
	 */
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
 * If bytea_output is "hex", the text is "\x" and the digits, and COPY doubles
 * the backslash.  For a value of more than half a gigabyte, byteaout() raises
 * an error.  Here the text exceeds 1 GB then, which the caller reports as an
 * error.
 */
static char *
encode_bytea(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const uint8 *bytes = (const uint8 *) VARDATA_ANY(DatumGetPointer(value));
	Size		len = VARSIZE_ANY_EXHDR(DatumGetPointer(value));

	if (unlikely(bytea_output != BYTEA_OUTPUT_HEX))
		return encode_by_type_function(encoder, value, out, to);
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
	return to;
}

/* for macaddr and macaddr8; the variant is the number of bytes */
static char *
encode_macaddr(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const uint8 *bytes = (const uint8 *) DatumGetPointer(value);

	to = put_hex_byte(to, bytes[0]);
	for (int i = 1; i < encoder->variant; i++)
	{
		*to++ = ':';
		to = put_hex_byte(to, bytes[i]);
	}
	return to;
}

/* ----------
 * Decoders of types that are written as hexadecimal digits: uuid, bytea,
 * macaddr, macaddr8.
 *
 * They accept only the forms that the output functions write: a uuid with its
 * four hyphens, bytea in hexadecimal form without white space, and addresses
 * with colons.
 * ----------
 */

/* The digits between two tests for an interrupt, a multiple of 16. */
#define DECODED_PIECE			(1024 * 1024)

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

/* Read an even number of digits; false if a character is not a digit. */
static inline bool
read_hex(const char *p, Size n_digits, uint8 *to)
{
	/* even if a digit is wrong, read_hex_8() writes only its 8 bytes */
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

/*
 * byteain() also accepts the older form with backslashes, and white space
 * between digits; both are left to it.  As a value may have a gigabyte of
 * digits, it is read in pieces, with a test for an interrupt before each.
 */
static bool
decode_bytea(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	struct varlena *result;
	uint8	   *to;

	if (len < 2 || len % 2 != 0 || text[0] != '\\' || text[1] != 'x')
		return false;
	text += 2;
	len -= 2;
	result = varlena_alloc(decoder, len / 2);
	*value = PointerGetDatum(result);

	to = (uint8 *) VARDATA(result);
	for (; len > DECODED_PIECE; len -= DECODED_PIECE)
	{
		CHECK_FOR_INTERRUPTS();
		if (!read_hex(text, DECODED_PIECE, to))
			return false;
		text += DECODED_PIECE;
		to += DECODED_PIECE / 2;
	}
	return read_hex(text, len, to);
}

/* for macaddr and macaddr8; the variant is the number of bytes */
static bool
decode_macaddr(ColumnDecoder *decoder, const char *text, Size len,
			   Datum *value)
{
	int			n_bytes = decoder->variant;
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

/* ----------
 * The family's encoders and decoders, by the types' functions.
 * ----------
 */

const EncoderRow text_encoders[] = {
	{F_TEXTOUT, encode_text},
	{F_VARCHAROUT, encode_text},
	{F_BPCHAROUT, encode_text},
	{F_JSON_OUT, encode_text},
	{F_TEXTSEND, encode_text},
	{F_VARCHARSEND, encode_text},
	{F_BPCHARSEND, encode_text},
	{F_JSON_SEND, encode_text},
	{F_XML_OUT, encode_xml},
	{F_NAMEOUT, encode_name},
	{F_NAMESEND, encode_name},
	{F_CHAROUT, encode_char},
	{F_ENUM_OUT, encode_enum},
	{F_ENUM_SEND, encode_enum},
	{F_UUID_OUT, encode_uuid,.never_quoted = true},
	{F_BYTEAOUT, encode_bytea},
	{F_MACADDR_OUT, encode_macaddr, sizeof(macaddr),.never_quoted = true},
	{F_MACADDR8_OUT, encode_macaddr, sizeof(macaddr8),.never_quoted = true},
	{InvalidOid}
};

const DecoderRow text_decoders[] = {
	{F_TEXTIN, decode_text},
	{F_VARCHARIN, decode_varchar, decode_text},
	{F_BPCHARIN, decode_bpchar, decode_text},
	{F_NAMEIN, decode_name},
	{F_CHARIN, decode_char},
	{F_UUID_IN, decode_uuid},
	{F_BYTEAIN, decode_bytea},
	{F_MACADDR_IN, decode_macaddr,.variant = sizeof(macaddr)},
	{F_MACADDR8_IN, decode_macaddr,.variant = sizeof(macaddr8)},
	{InvalidOid}
};

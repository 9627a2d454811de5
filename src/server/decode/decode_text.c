/*-------------------------------------------------------------------------
 *
 * decode_text.c
 *	  Decoders of the types whose value is their text.
 *
 * As src/backend/utils/adt/varlena.c: textin(), varchar.c: varcharin() and
 * bpcharin(), name.c: namein(), char.c: charin().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "mb/pg_wchar.h"
#include "utils/fmgroids.h"

#include "bytes/escape.h"
#include "decode/decode_text.h"

/* A varlena of "len" bytes, which are not set. */
static inline struct varlena *
new_varlena(ColumnDecoder *decoder, Size len)
{
	struct varlena *result = value_alloc(decoder, len + VARHDRSZ);

	SET_VARSIZE(result, len + VARHDRSZ);
	return result;
}

static bool
decode_text(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	struct varlena *result = new_varlena(decoder, len);

	memcpy(VARDATA(result), text, len);
	*value = PointerGetDatum(result);
	return true;
}

/* The characters in a text. */
static inline Size
text_characters(const char *text, Size len)
{
	if (text_is_ascii(text, len))
		return len;
	return pg_mbstrlen_with_len(text, len);
}

/* varchar(n): what is too long may be so by spaces, which are cut off */
static bool
decode_varchar(ColumnDecoder *decoder, const char *text, Size len,
			   Datum *value)
{
	Size		max = decoder->typmod - VARHDRSZ;

	return (len <= max || text_characters(text, len) <= max) &&
		decode_text(decoder, text, len, value);
}

/* char(n) */
static bool
decode_bpchar(ColumnDecoder *decoder, const char *text, Size len,
			  Datum *value)
{
	Size		max = decoder->typmod - VARHDRSZ;
	Size		characters = text_characters(text, len);
	struct varlena *result;

	if (characters > max)
		return false;
	result = new_varlena(decoder, len + max - characters);
	memcpy(VARDATA(result), text, len);
	memset(VARDATA(result) + len, ' ', max - characters);
	*value = PointerGetDatum(result);
	return true;
}

/* A longer name is cut off. */
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

/* "char": no text is a zero; longer ones differ among majors */
static bool
decode_char(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	*value = CharGetDatum(len == 0 ? '\0' : text[0]);
	return len == 0 || (len == 1 && !IS_HIGHBIT_SET(text[0]));
}

DecodeFunction
text_decoder(Oid input_function, ColumnDecoder *decoder)
{
	bool		is_limited = decoder->typmod >= (int32) VARHDRSZ;

	switch (input_function)
	{
		case F_TEXTIN:
			return decode_text;
		case F_VARCHARIN:
			return is_limited ? decode_varchar : decode_text;
		case F_BPCHARIN:
			return is_limited ? decode_bpchar : decode_text;
		case F_NAMEIN:
			return decode_name;
		case F_CHARIN:
			return decode_char;
		default:
			return NULL;
	}
}

/*-------------------------------------------------------------------------
 *
 * decode_text.c
 *	  Decoders of the types whose value is their text.
 *
 * As src/backend/utils/adt/varlena.c: textin() and varchar.c: varcharin(),
 * bpcharin().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "utils/fmgroids.h"

#include "decode/decode_text.h"

static inline bool
decode_bytes(const char *text, Size len, Datum *value)
{
	struct varlena *result = palloc(len + VARHDRSZ);

	SET_VARSIZE(result, len + VARHDRSZ);
	memcpy(VARDATA(result), text, len);
	*value = PointerGetDatum(result);
	return true;
}

static bool
decode_text(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	return decode_bytes(text, len, value);
}

DecodeFunction
text_decoder(Oid input_function, ColumnDecoder *decoder)
{
	switch (input_function)
	{
		case F_TEXTIN:
			return decode_text;
		default:
			return NULL;
	}
}

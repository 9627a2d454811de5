/*-------------------------------------------------------------------------
 *
 * choose_decoder.c
 *	  Chooses the decoder of a type, of all that there are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "base/builtin_function.h"
#include "decode/choose_decoder.h"
#include "decode/decode_datetime.h"
#include "decode/decode_float.h"
#include "decode/decode_hex.h"
#include "decode/decode_number.h"
#include "decode/decode_text.h"

/* No input function is in two of them, so their order means nothing. */
static const DecoderFamily families[] = {
	number_decoder,
	float_decoder,
	text_decoder,
	datetime_decoder,
	hex_decoder
};

void
choose_decoder(ColumnDecoder *decoder, Oid type_id, int32 typmod)
{
	Oid			input_function;

	getTypeInputInfo(type_id, &input_function, &decoder->ioparam);
	fmgr_info(input_function, &decoder->input_function);
	decoder->type_id = type_id;
	decoder->typmod = typmod;
	decoder->state = NULL;
	decoder->decode = NULL;

	input_function = builtin_function(&decoder->input_function);
	for (int i = 0; i < lengthof(families) && decoder->decode == NULL; i++)
		decoder->decode = families[i] (input_function, decoder);
}

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
#include "decode/decode_array.h"
#include "decode/decode_datetime.h"
#include "decode/decode_float.h"
#include "decode/decode_hex.h"
#include "decode/decode_json.h"
#include "decode/decode_jsonb.h"
#include "decode/decode_network.h"
#include "decode/decode_number.h"
#include "decode/decode_numeric.h"
#include "decode/decode_text.h"

/* No input function is in two of them, so their order means nothing. */
static const DecoderFamily families[] = {
	number_decoder,
	float_decoder,
	numeric_decoder,
	text_decoder,
	datetime_decoder,
	hex_decoder,
	network_decoder,
	json_decoder,
	jsonb_decoder
};

static DecodeFunction
decoder_of_families(Oid input_function, ColumnDecoder *decoder)
{
	for (int i = 0; i < lengthof(families); i++)
	{
		DecodeFunction decode = families[i] (input_function, decoder);

		if (decode != NULL)
			return decode;
	}
	return NULL;
}

void
choose_decoder(ColumnDecoder *decoder, ValueSpace *space, Oid type_id,
			   int32 typmod)
{
	Oid			input_function;
	ColumnDecoder *element;

	getTypeInputInfo(type_id, &input_function, &decoder->ioparam);
	fmgr_info(input_function, &decoder->input_function);
	decoder->space = space;
	decoder->type_id = type_id;
	decoder->typmod = typmod;
	decoder->state = NULL;

	input_function = builtin_function(&decoder->input_function);
	decoder->decode = decoder_of_families(input_function, decoder);
	if (decoder->decode != NULL)
		return;
	decoder->decode = array_decoder(input_function, decoder, &element);
	if (decoder->decode == NULL)
		return;
	choose_decoder(element, space, element->type_id, typmod);
	if (element->decode == NULL)
		decoder->decode = NULL;
}

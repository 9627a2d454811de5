/*-------------------------------------------------------------------------
 *
 * choose_encoder.c
 *	  Chooses the encoder of a type, of all that there are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "base/builtin_function.h"
#include "encode/choose_encoder.h"
#include "encode/encode_array.h"
#include "encode/encode_datetime.h"
#include "encode/encode_hex.h"
#include "encode/encode_jsonb.h"
#include "encode/encode_network.h"
#include "encode/encode_number.h"
#include "encode/encode_numeric.h"
#include "encode/encode_text.h"
#include "encode/send_value.h"

/* No type function is in two of them, so their order means nothing. */
static const EncoderFamily families[] = {
	value_sender,
	number_encoder,
	numeric_encoder,
	text_encoder,
	datetime_encoder,
	hex_encoder,
	network_encoder,
	jsonb_encoder
};

static EncodeFunction
encoder_of_families(Oid type_function)
{
	for (int i = 0; i < lengthof(families); i++)
	{
		EncodeFunction encode = families[i] (type_function);

		if (encode != NULL)
			return encode;
	}
	return NULL;
}

void
choose_encoder(ColumnEncoder *encoder, Oid type_id,
			   const EncodeSettings *settings)
{
	Oid			type_function;
	ColumnEncoder *element;

	if (settings->format == ROW_BINARY)
		getTypeBinaryOutputInfo(type_id, &type_function, &encoder->is_varlena);
	else
		getTypeOutputInfo(type_id, &type_function, &encoder->is_varlena);
	fmgr_info(type_function, &encoder->type_function);
	encoder->settings = settings;
	encoder->type_id = type_id;
	encoder->state = NULL;

	type_function = builtin_function(&encoder->type_function);
	encoder->encode = encoder_of_families(type_function);
	if (encoder->encode != NULL)
		return;
	encoder->encode = array_encoder(type_function, encoder, &element);
	if (encoder->encode != NULL)
		choose_encoder(element, element->type_id, settings);
	else
		encoder->encode = encode_by_type_function;
}

/*-------------------------------------------------------------------------
 *
 * choose.c
 *	  Chooses the encoder and the decoder of a column.
 *
 * The choice is made once a scan, by the type's output, send or input
 * function: a function and not a type determines the bytes, and types of
 * extensions often use the functions of built-in types.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "utils/fmgrtab.h"
#include "utils/lsyscache.h"

#include "types/choose.h"
#include "types/family.h"

/*
 * The OID of the built-in function (F_... of utils/fmgroids.h) that a
 * function is: itself, or, if it was created as another name for one in
 * LANGUAGE internal (citext's output function is textout), the one it calls.
 * InvalidOid if it is none.
 */
static Oid
builtin_function(const FmgrInfo *function)
{
	if (function->fn_oid < FirstGenbkiObjectId)
		return function->fn_oid;

	/*
	 * fmgr_info() has looked a function in LANGUAGE internal up by its name,
	 * in the same table, and has put the address found there into fn_addr.
	 */
	for (int i = 0; i < fmgr_nbuiltins; i++)
	{
		if (fmgr_builtins[i].func == function->fn_addr)
			return fmgr_builtins[i].foid;
	}
	return InvalidOid;
}

/* ----------
 * Chooses the encoder of a type, of all that there are.
 * ----------
 */

/* No type function is in two of them, so their order means nothing. */
static const EncoderRow *const encoder_families[] = {
	number_encoders, numeric_encoders, text_encoders, datetime_encoders,
	network_encoders, jsonb_encoders
};

static EncodeFunction
encoder_of_families(Oid type_function, ColumnEncoder *encoder)
{
	for (int i = 0; i < lengthof(encoder_families); i++)
		for (const EncoderRow *row = encoder_families[i];
			 OidIsValid(row->type_function); row++)
			if (row->type_function == type_function)
			{
				encoder->variant = row->variant;
				encoder->never_quoted = row->never_quoted;
				return row->encode;
			}
	return NULL;
}

void
choose_encoder(ColumnEncoder *encoder, Oid type_id,
			   const EncodeSettings *settings)
{
	Oid			type_function;

	if (settings->format == ROW_BINARY)
		getTypeBinaryOutputInfo(type_id, &type_function, &encoder->is_varlena);
	else
		getTypeOutputInfo(type_id, &type_function, &encoder->is_varlena);
	fmgr_info(type_function, &encoder->type_function);
	encoder->settings = settings;
	encoder->type_id = type_id;
	encoder->never_quoted = false;
	encoder->state = NULL;

	/*
	 * A built-in function that is replaced by CREATE OR REPLACE keeps its
	 * OID, but fmgr_info() does not look at pg_proc for it either: the server
	 * calls the built-in one, too.
	 */
	type_function = builtin_function(&encoder->type_function);
	encoder->encode = encoder_of_families(type_function, encoder);
	if (encoder->encode == NULL)
		encoder->encode = array_encoder(type_function, encoder);
	if (encoder->encode == NULL)
		encoder->encode = encode_by_type_function;
}

/* ----------
 * Chooses the decoder of a type, of all that there are.
 * ----------
 */

/* No input function is in two of them, so their order means nothing. */
static const DecoderRow *const decoder_families[] = {
	number_decoders, numeric_decoders, text_decoders, datetime_decoders,
	network_decoders, json_decoders, jsonb_decoders
};

static DecodeFunction
decoder_of_families(Oid input_function, ColumnDecoder *decoder)
{
	for (int i = 0; i < lengthof(decoder_families); i++)
		for (const DecoderRow *row = decoder_families[i];
			 OidIsValid(row->input_function); row++)
			if (row->input_function == input_function)
				return decoder_of_row(row, decoder);
	return NULL;
}

void
choose_decoder(ColumnDecoder *decoder, ValueSpace *space, Oid type_id,
			   int32 typmod)
{
	Oid			input_function;

	getTypeInputInfo(type_id, &input_function, &decoder->ioparam);
	fmgr_info(input_function, &decoder->input_function);
	decoder->space = space;
	decoder->type_id = type_id;
	decoder->typmod = typmod;
	decoder->state = NULL;

	input_function = builtin_function(&decoder->input_function);
	decoder->decode = decoder_of_families(input_function, decoder);
	if (decoder->decode == NULL)
		decoder->decode = array_decoder(input_function, decoder);
}

/*-------------------------------------------------------------------------
 *
 * choose.c
 *	  Chooses the encoder or the decoder of a column.
 *
 * read/chunk_reader.c calls this for each column when a read begins, and
 * load/row_reader.c when a COPY FROM begins.  The output, send or input
 * function of the type decides, and not the type: the function determines the
 * bytes, and types of extensions often use the functions of built-in types.
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
 * Return the OID of the built-in function (F_... of utils/fmgroids.h) that
 * this function is.  CREATE FUNCTION ... LANGUAGE internal gives a built-in
 * function a second OID: citext's output function, for example, is textout.
 * The result is the OID of the built-in function then.  Returns InvalidOid
 * for all other functions.
 */
static Oid
builtin_function(const FmgrInfo *function)
{
	if (function->fn_oid < FirstGenbkiObjectId)
		return function->fn_oid;

	/*
	 * fmgr_info() has found the function of LANGUAGE internal by its name, in
	 * this table, and has stored its address in fn_addr.
	 */
	for (int i = 0; i < fmgr_nbuiltins; i++)
	{
		if (fmgr_builtins[i].func == function->fn_addr)
			return fmgr_builtins[i].foid;
	}
	return InvalidOid;
}

/* ----------
 * Chooses the encoder of a type.
 * ----------
 */

/* No function is in two of these tables, so their order does not matter. */
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
	 * CREATE OR REPLACE FUNCTION can change the pg_proc row of a built-in
	 * function, which keeps its OID.  fmgr_info() does not read that row for
	 * built-in functions, so the server itself still calls the built-in code,
	 * which the encoder replaces.
	 */
	type_function = builtin_function(&encoder->type_function);
	encoder->encode = encoder_of_families(type_function, encoder);
	if (encoder->encode == NULL)
		encoder->encode = array_encoder(type_function, encoder);
	if (encoder->encode == NULL)
		encoder->encode = encode_by_type_function;
}

/* ----------
 * Chooses the decoder of a type.
 * ----------
 */

/* No function is in two of these tables, so their order does not matter. */
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

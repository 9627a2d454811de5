/*-------------------------------------------------------------------------
 *
 * column_encoder.c
 *	  Chooses a column's encoder, and encodes what no other encoder does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgrtab.h"
#include "utils/lsyscache.h"

#include "encode/encode_fallback.h"

/*
 * The built-in function that a function is: itself, or, if it was created as
 * another name for one in LANGUAGE internal (citext's output function is
 * textout), the one it calls.  InvalidOid if it is none.
 */
static Oid
builtin_function(const FmgrInfo *function)
{
	if (function->fn_oid < FirstGenbkiObjectId)
		return function->fn_oid;

	for (int i = 0; i < fmgr_nbuiltins; i++)
	{
		if (fmgr_builtins[i].func == function->fn_addr)
			return fmgr_builtins[i].foid;
	}
	return InvalidOid;
}

void
damaged_value(const char *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid value of type %s", type)));
}

void
column_encoder_init(ColumnEncoder *encoder, Oid type_id,
					const EncodeSettings *settings)
{
	Oid			type_function;
	EncodeFunction encode;

	if (settings->format == ROW_BINARY)
		getTypeBinaryOutputInfo(type_id, &type_function, &encoder->is_varlena);
	else
		getTypeOutputInfo(type_id, &type_function, &encoder->is_varlena);
	fmgr_info(type_function, &encoder->type_function);
	encoder->settings = settings;
	encoder->type_id = type_id;
	encoder->state = NULL;

	type_function = builtin_function(&encoder->type_function);
	encode = value_sender(type_function);
	if (encode == NULL)
		encode = number_encoder(type_function);
	if (encode == NULL)
		encode = text_encoder(type_function);
	if (encode == NULL)
		encode = datetime_encoder(type_function);
	if (encode == NULL)
		encode = hex_encoder(type_function);
	if (encode == NULL)
		encode = jsonb_encoder(type_function);
	if (encode == NULL)
		encode = array_encoder(type_function, encoder);
	if (encode == NULL)
		encode = encode_by_type_function;
	encoder->encode = encode;
}

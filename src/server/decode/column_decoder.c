/*-------------------------------------------------------------------------
 *
 * column_decoder.c
 *	  Decodes what no decoder does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "decode/column_decoder.h"

Datum
decode_by_input_function(ColumnDecoder *decoder, char *text, Size len)
{
	char		behind;
	Datum		value;

	if (text == NULL)
		return InputFunctionCall(&decoder->input_function, NULL,
								 decoder->ioparam, decoder->typmod);

	behind = text[len];
	text[len] = '\0';
	value = InputFunctionCall(&decoder->input_function, text,
							  decoder->ioparam, decoder->typmod);
	text[len] = behind;
	return value;
}

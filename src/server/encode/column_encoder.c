/*-------------------------------------------------------------------------
 *
 * column_encoder.c
 *	  What encoders of any type share: the way out by the type's own function,
 *	  and the error for damage.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */

#include "encode/append_text.h"
#include "encode/column_encoder.h"

void
encode_by_type_function(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	/* not freed: the function may return what it did not allocate */
	if (encoder->settings->format == ROW_BINARY)
	{
		bytea	   *sent = SendFunctionCall(&encoder->type_function, value);

		byte_buffer_append(out, VARDATA(sent), VARSIZE(sent) - VARHDRSZ);
	}
	else
	{
		char	   *str = OutputFunctionCall(&encoder->type_function, value);

		append_text(out, str, strlen(str), encoder->settings);
	}
}

void
damaged_value(const char *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid value of type %s", type)));
}

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

char *
encode_by_type_function(ColumnEncoder *encoder, Datum value, ByteBuffer *out,
						char *to)
{
	/* not freed: the function may return what it did not allocate */
	if (encoder->settings->format == ROW_BINARY)
	{
		bytea	   *sent = SendFunctionCall(&encoder->type_function, value);

		return byte_buffer_append(out, to, VARDATA(sent),
								  VARSIZE(sent) - VARHDRSZ);
	}
	else
	{
		char	   *str = OutputFunctionCall(&encoder->type_function, value);

		return append_text(out, to, str, strlen(str), encoder->settings);
	}
}

void
damaged_value(const char *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid value of type %s", type)));
}

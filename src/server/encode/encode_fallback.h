/*-------------------------------------------------------------------------
 *
 * encode_fallback.h
 *	  Leaves one value to its type's output or send function.
 *
 * For the values that a fast encoder does not cover: those out of the type's
 * range, which only a damaged tuple holds, and rare ones whose text depends
 * on the major.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_FALLBACK_H
#define PARDUMP_ENCODE_FALLBACK_H

#include "access/htup_details.h"	/* brings varatt.h where there is one */

#include "encode/column_encoder.h"

static inline void
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

#endif							/* PARDUMP_ENCODE_FALLBACK_H */

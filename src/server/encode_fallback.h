/*-------------------------------------------------------------------------
 *
 * encode_fallback.h
 *	  Leaves one value to its type's output function.
 *
 * For the values that a fast encoder does not cover: those out of the type's
 * range, which only a damaged tuple holds, and rare ones whose text depends
 * on the major.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_FALLBACK_H
#define PARDUMP_ENCODE_FALLBACK_H

#include "column_encoder.h"

static inline void
encode_by_type_function(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	char	   *str = OutputFunctionCall(&encoder->type_function, value);

	/* not freed: the function may return text that it did not allocate */
	append_text(out, str, strlen(str), encoder->settings);
}

#endif							/* PARDUMP_ENCODE_FALLBACK_H */

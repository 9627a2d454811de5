/*-------------------------------------------------------------------------
 *
 * encode_number.h
 *	  The text of a numeric, for encoders of types that contain one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_NUMBER_H
#define PARDUMP_ENCODE_NUMBER_H

#include "utils/numeric.h"

#include "column_encoder.h"

/*
 * Append what numeric_out() gives, which needs no escapes.  The numeric has a
 * short or a plain header and may be unaligned; it is not compressed or out
 * of line.
 */
extern void append_numeric(ByteBuffer *out, Numeric num);

/* The encoder of type numeric. */
extern void encode_numeric(ColumnEncoder *encoder, Datum value,
						   ByteBuffer *out);

#endif							/* PARDUMP_ENCODE_NUMBER_H */

/*-------------------------------------------------------------------------
 *
 * encode_number.h
 *	  Encoders of numeric, and its text for types that contain one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_NUMBER_H
#define PARDUMP_ENCODE_NUMBER_H

#include "utils/numeric.h"

#include "encode/column_encoder.h"

/*
 * Append what numeric_out() gives, which needs no escapes.  The numeric has a
 * short or a plain header and may be unaligned; it is not compressed or out
 * of line.
 */
extern void append_numeric(ByteBuffer *out, Numeric num);

/* The encoders of type numeric, as text and in binary form. */
extern void encode_numeric(ColumnEncoder *encoder, Datum value,
						   ByteBuffer *out);
extern void send_numeric(ColumnEncoder *encoder, Datum value,
						 ByteBuffer *out);

#endif							/* PARDUMP_ENCODE_NUMBER_H */

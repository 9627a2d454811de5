/*-------------------------------------------------------------------------
 *
 * encode_numeric.h
 *	  Encoders of numeric, as text and in binary form, and its text for types
 *	  that contain one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_NUMERIC_H
#define PARDUMP_ENCODE_NUMERIC_H

#include "utils/numeric.h"

#include "encode/column_encoder.h"

/* An EncoderFamily. */
extern EncodeFunction numeric_encoder(Oid type_function);

/*
 * Append what numeric_out() gives, which needs no escapes, at "to", and
 * return its end.  The numeric has a short or a plain header and may be
 * unaligned; it is not compressed or out of line.
 */
extern char *append_numeric(ByteBuffer *out, char *to, Numeric num);

#endif							/* PARDUMP_ENCODE_NUMERIC_H */

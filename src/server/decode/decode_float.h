/*-------------------------------------------------------------------------
 *
 * decode_float.h
 *	  Decoders of float4 and float8.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DECODE_FLOAT_H
#define PARDUMP_DECODE_FLOAT_H

#include "decode/column_decoder.h"

/* A DecoderFamily. */
extern DecodeFunction float_decoder(Oid input_function,
									ColumnDecoder *decoder);

#endif							/* PARDUMP_DECODE_FLOAT_H */

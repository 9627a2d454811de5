/*-------------------------------------------------------------------------
 *
 * decode_hex.h
 *	  Decoders of types that are written as hexadecimal digits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DECODE_HEX_H
#define PARDUMP_DECODE_HEX_H

#include "decode/column_decoder.h"

/* A DecoderFamily. */
extern DecodeFunction hex_decoder(Oid input_function, ColumnDecoder *decoder);

#endif							/* PARDUMP_DECODE_HEX_H */

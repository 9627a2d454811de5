/*-------------------------------------------------------------------------
 *
 * decode_jsonb.h
 *	  Decoder of jsonb.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DECODE_JSONB_H
#define PARDUMP_DECODE_JSONB_H

#include "decode/column_decoder.h"

/* A DecoderFamily. */
extern DecodeFunction jsonb_decoder(Oid input_function,
									ColumnDecoder *decoder);

#endif							/* PARDUMP_DECODE_JSONB_H */

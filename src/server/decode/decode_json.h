/*-------------------------------------------------------------------------
 *
 * decode_json.h
 *	  Decoder of json.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DECODE_JSON_H
#define PARDUMP_DECODE_JSON_H

#include "decode/column_decoder.h"

/* A DecoderFamily. */
extern DecodeFunction json_decoder(Oid input_function,
								   ColumnDecoder *decoder);

#endif							/* PARDUMP_DECODE_JSON_H */

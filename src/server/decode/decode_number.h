/*-------------------------------------------------------------------------
 *
 * decode_number.h
 *	  Decoders of bool, integers, and object and transaction ids.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DECODE_NUMBER_H
#define PARDUMP_DECODE_NUMBER_H

#include "decode/column_decoder.h"

/* A DecoderFamily. */
extern DecodeFunction number_decoder(Oid input_function,
									 ColumnDecoder *decoder);

#endif							/* PARDUMP_DECODE_NUMBER_H */

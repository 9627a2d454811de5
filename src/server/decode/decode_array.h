/*-------------------------------------------------------------------------
 *
 * decode_array.h
 *	  Decoder of arrays of types that have a decoder.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DECODE_ARRAY_H
#define PARDUMP_DECODE_ARRAY_H

#include "decode/column_decoder.h"

/*
 * As a DecoderFamily, but the element's decoder, to which *element points, is
 * left to be chosen: for (*element)->type_id, with the array's typmod.  If
 * there turns out to be none, the array has none.
 */
extern DecodeFunction array_decoder(Oid input_function,
									ColumnDecoder *decoder,
									ColumnDecoder **element);

#endif							/* PARDUMP_DECODE_ARRAY_H */

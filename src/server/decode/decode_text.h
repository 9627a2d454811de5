/*-------------------------------------------------------------------------
 *
 * decode_text.h
 *	  Decoders of the types whose value is their text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DECODE_TEXT_H
#define PARDUMP_DECODE_TEXT_H

#include "decode/column_decoder.h"

/* A DecoderFamily. */
extern DecodeFunction text_decoder(Oid input_function, ColumnDecoder *decoder);

#endif							/* PARDUMP_DECODE_TEXT_H */

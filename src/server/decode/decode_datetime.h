/*-------------------------------------------------------------------------
 *
 * decode_datetime.h
 *	  Decoders of date, time, timestamp, both with zones, and interval.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DECODE_DATETIME_H
#define PARDUMP_DECODE_DATETIME_H

#include "decode/column_decoder.h"

/* A DecoderFamily. */
extern DecodeFunction datetime_decoder(Oid input_function,
									   ColumnDecoder *decoder);

#endif							/* PARDUMP_DECODE_DATETIME_H */

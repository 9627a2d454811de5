/*-------------------------------------------------------------------------
 *
 * datetime.h
 *	  Encoders and decoders of dates, times, timestamps and intervals.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DATETIME_H
#define PARDUMP_DATETIME_H

#include "types/column.h"

/* ----------
 * Encoders of date, time, timestamp, both with zones, and interval, as
 * text.
 * ----------
 */

/* An EncoderFamily. */
extern EncodeFunction datetime_encoder(Oid type_function);

/* ----------
 * Decoders of date, time, timestamp, both with zones, and interval.
 * ----------
 */

/* A DecoderFamily. */
extern DecodeFunction datetime_decoder(Oid input_function,
									   ColumnDecoder *decoder);

#endif							/* PARDUMP_DATETIME_H */

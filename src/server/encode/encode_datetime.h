/*-------------------------------------------------------------------------
 *
 * encode_datetime.h
 *	  Encoders of date, time, timestamp, both with zones, and interval, as
 *	  text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_DATETIME_H
#define PARDUMP_ENCODE_DATETIME_H

#include "encode/column_encoder.h"

/* An EncoderFamily. */
extern EncodeFunction datetime_encoder(Oid type_function);

#endif							/* PARDUMP_ENCODE_DATETIME_H */

/*-------------------------------------------------------------------------
 *
 * encode_number.h
 *	  Encoders of bool, integers, object and transaction ids, and floats, as
 *	  text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_NUMBER_H
#define PARDUMP_ENCODE_NUMBER_H

#include "encode/column_encoder.h"

/* An EncoderFamily. */
extern EncodeFunction number_encoder(Oid type_function);

#endif							/* PARDUMP_ENCODE_NUMBER_H */

/*-------------------------------------------------------------------------
 *
 * number.h
 *	  Encoders and decoders of integers, floats, booleans and OIDs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_NUMBER_H
#define PARDUMP_NUMBER_H

#include "types/column.h"

/* ----------
 * Encoders of bool, integers, object and transaction ids, and floats, as
 * text.
 * ----------
 */

/* An EncoderFamily. */
extern EncodeFunction number_encoder(Oid type_function);

/* ----------
 * Decoders of bool, integers, and object and transaction ids.
 * ----------
 */

/* A DecoderFamily. */
extern DecodeFunction number_decoder(Oid input_function,
									 ColumnDecoder *decoder);

/* ----------
 * Decoders of float4 and float8.
 * ----------
 */

/* A DecoderFamily. */
extern DecodeFunction float_decoder(Oid input_function,
									ColumnDecoder *decoder);

/* ----------
 * Encoders of the types whose binary form is nearly their stored form.
 * ----------
 */

/* An EncoderFamily. */
extern EncodeFunction value_sender(Oid type_function);

#endif							/* PARDUMP_NUMBER_H */

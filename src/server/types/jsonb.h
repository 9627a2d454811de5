/*-------------------------------------------------------------------------
 *
 * jsonb.h
 *	  Encoder and decoder of jsonb.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_JSONB_H
#define PARDUMP_JSONB_H

#include "types/column.h"

/* ----------
 * Encoder of jsonb, as text and in binary form.
 * ----------
 */

/* An EncoderFamily. */
extern EncodeFunction jsonb_encoder(Oid type_function);

/* ----------
 * Decoder of jsonb.
 * ----------
 */

/* A DecoderFamily. */
extern DecodeFunction jsonb_decoder(Oid input_function,
									ColumnDecoder *decoder);

#endif							/* PARDUMP_JSONB_H */

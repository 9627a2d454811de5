/*-------------------------------------------------------------------------
 *
 * encode_jsonb.h
 *	  Encoder of jsonb, as text and in binary form.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_JSONB_H
#define PARDUMP_ENCODE_JSONB_H

#include "encode/column_encoder.h"

/* An EncoderFamily. */
extern EncodeFunction jsonb_encoder(Oid type_function);

#endif							/* PARDUMP_ENCODE_JSONB_H */

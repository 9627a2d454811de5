/*-------------------------------------------------------------------------
 *
 * encode_text.h
 *	  Encoders of the types whose value is their text, and of enums, as text
 *	  and in binary form.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_TEXT_H
#define PARDUMP_ENCODE_TEXT_H

#include "encode/column_encoder.h"

/* An EncoderFamily. */
extern EncodeFunction text_encoder(Oid type_function);

#endif							/* PARDUMP_ENCODE_TEXT_H */

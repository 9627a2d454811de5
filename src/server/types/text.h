/*-------------------------------------------------------------------------
 *
 * text.h
 *	  Encoders and decoders of text types, bytea, uuid and MAC addresses.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TEXT_H
#define PARDUMP_TEXT_H

#include "types/column.h"

/* ----------
 * Encoders of the types whose value is their text, and of enums, as text
 * and in binary form.
 * ----------
 */

/* An EncoderFamily. */
extern EncodeFunction text_encoder(Oid type_function);

/* ----------
 * Decoders of the types whose value is their text.
 * ----------
 */

/* A DecoderFamily. */
extern DecodeFunction text_decoder(Oid input_function, ColumnDecoder *decoder);

/* ----------
 * Encoders of types that are written as hexadecimal digits: uuid, bytea,
 * macaddr, macaddr8.
 * ----------
 */

/* An EncoderFamily. */
extern EncodeFunction hex_encoder(Oid type_function);

/* ----------
 * Decoders of types that are written as hexadecimal digits.
 * ----------
 */

/* A DecoderFamily. */
extern DecodeFunction hex_decoder(Oid input_function, ColumnDecoder *decoder);

#endif							/* PARDUMP_TEXT_H */

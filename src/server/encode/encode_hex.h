/*-------------------------------------------------------------------------
 *
 * encode_hex.h
 *	  Encoders of types that are written as hexadecimal digits: uuid, bytea,
 *	  macaddr, macaddr8.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_HEX_H
#define PARDUMP_ENCODE_HEX_H

#include "encode/column_encoder.h"

/* An EncoderFamily. */
extern EncodeFunction hex_encoder(Oid type_function);

#endif							/* PARDUMP_ENCODE_HEX_H */

/*-------------------------------------------------------------------------
 *
 * network.h
 *	  Encoders and decoders of inet and cidr.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_NETWORK_H
#define PARDUMP_NETWORK_H

#include "types/column.h"

/* ----------
 * Encoders of inet and cidr, as text and in binary form.
 * ----------
 */

/* An EncoderFamily. */
extern EncodeFunction network_encoder(Oid type_function);

/* ----------
 * Decoders of inet and cidr.
 * ----------
 */

/* A DecoderFamily. */
extern DecodeFunction network_decoder(Oid input_function,
									  ColumnDecoder *decoder);

#endif							/* PARDUMP_NETWORK_H */

/*-------------------------------------------------------------------------
 *
 * encode_network.h
 *	  Encoders of inet and cidr, as text and in binary form.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_NETWORK_H
#define PARDUMP_ENCODE_NETWORK_H

#include "encode/column_encoder.h"

/* An EncoderFamily. */
extern EncodeFunction network_encoder(Oid type_function);

#endif							/* PARDUMP_ENCODE_NETWORK_H */

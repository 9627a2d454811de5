/*-------------------------------------------------------------------------
 *
 * encode_network.h
 *	  Encoders of network addresses.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_NETWORK_H
#define PARDUMP_ENCODE_NETWORK_H

#include "column_encoder.h"

extern void encode_inet(ColumnEncoder *encoder, Datum value, ByteBuffer *out);
extern void encode_cidr(ColumnEncoder *encoder, Datum value, ByteBuffer *out);

#endif							/* PARDUMP_ENCODE_NETWORK_H */

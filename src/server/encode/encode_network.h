/*-------------------------------------------------------------------------
 *
 * encode_network.h
 *	  Encoders of network addresses.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_NETWORK_H
#define PARDUMP_ENCODE_NETWORK_H

#include "encode/column_encoder.h"

/* As text. */
extern void encode_inet(ColumnEncoder *encoder, Datum value, ByteBuffer *out);
extern void encode_cidr(ColumnEncoder *encoder, Datum value, ByteBuffer *out);

/* In binary form. */
extern void send_inet(ColumnEncoder *encoder, Datum value, ByteBuffer *out);
extern void send_cidr(ColumnEncoder *encoder, Datum value, ByteBuffer *out);

#endif							/* PARDUMP_ENCODE_NETWORK_H */

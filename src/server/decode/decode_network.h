/*-------------------------------------------------------------------------
 *
 * decode_network.h
 *	  Decoders of inet and cidr.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DECODE_NETWORK_H
#define PARDUMP_DECODE_NETWORK_H

#include "decode/column_decoder.h"

/* A DecoderFamily. */
extern DecodeFunction network_decoder(Oid input_function,
									  ColumnDecoder *decoder);

#endif							/* PARDUMP_DECODE_NETWORK_H */

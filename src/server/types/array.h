/*-------------------------------------------------------------------------
 *
 * array.h
 *	  Encoder and decoder of arrays.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ARRAY_H
#define PARDUMP_ARRAY_H

#include "types/column.h"

/* ----------
 * Encoder of arrays of any element type.
 * ----------
 */

/*
 * The encoder of arrays, if that is the type's function, and if their
 * elements are such that it is exact; else NULL.  Sets up encoder->state, in
 * CurrentMemoryContext, but for the encoder of the elements: *element is
 * there for the caller to choose it, of the type that its type_id tells.
 */
extern EncodeFunction array_encoder(Oid type_function, ColumnEncoder *encoder,
									ColumnEncoder **element);

/* ----------
 * Decoder of arrays of types that have a decoder.
 * ----------
 */

/*
 * As a DecoderFamily, but the element's decoder, to which *element points, is
 * left to be chosen: for (*element)->type_id, with the array's typmod.  If
 * there turns out to be none, the array has none.
 */
extern DecodeFunction array_decoder(Oid input_function,
									ColumnDecoder *decoder,
									ColumnDecoder **element);

#endif							/* PARDUMP_ARRAY_H */

/*-------------------------------------------------------------------------
 *
 * encode_array.h
 *	  Encoder of arrays of any element type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENCODE_ARRAY_H
#define PARDUMP_ENCODE_ARRAY_H

#include "encode/column_encoder.h"

/*
 * The encoder of arrays, if that is the type's function, and if their
 * elements are such that it is exact; else NULL.  Sets up encoder->state, in
 * CurrentMemoryContext, but for the encoder of the elements: *element is
 * there for the caller to choose it, of the type that its type_id tells.
 */
extern EncodeFunction array_encoder(Oid type_function, ColumnEncoder *encoder,
									ColumnEncoder **element);

#endif							/* PARDUMP_ENCODE_ARRAY_H */

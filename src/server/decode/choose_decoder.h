/*-------------------------------------------------------------------------
 *
 * choose_decoder.h
 *	  Chooses the decoder of a type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_CHOOSE_DECODER_H
#define PARDUMP_CHOOSE_DECODER_H

#include "decode/column_decoder.h"

/*
 * Choose and set up the decoder of a type, for a column of a typmod or -1.
 * The space for values is borrowed, has a room that is aligned and a multiple
 * of MAXIMUM_ALIGNOF, and is to be made empty again after every row.
 * Allocates in CurrentMemoryContext, which must outlive the decoder.  Values
 * of types without a decoder go through their input function; a type that has
 * none is an error.
 */
extern void choose_decoder(ColumnDecoder *decoder, ValueSpace *space,
						   Oid type_id, int32 typmod);

#endif							/* PARDUMP_CHOOSE_DECODER_H */

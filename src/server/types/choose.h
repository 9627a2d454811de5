/*-------------------------------------------------------------------------
 *
 * choose.h
 *	  Chooses the encoder or the decoder of a column.
 *
 * The readers and loaders of rows (read/, load/) call these functions, and
 * the encoder and decoder of arrays for the type of the elements.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_CHOOSE_H
#define PARDUMP_CHOOSE_H

#include "types/column.h"

/* ----------
 * Chooses the encoder of a type.
 * ----------
 */

/*
 * Choose and set up the encoder of a type.  The settings, which are borrowed,
 * contain the format, and so determine whether the type's output or send
 * function decides.  Allocates in CurrentMemoryContext, which must live as
 * long as the encoder.  A type without a fast encoder gets one that calls its
 * own function.  A type without such a function is an error.
 */
extern void choose_encoder(ColumnEncoder *encoder, Oid type_id,
						   const EncodeSettings *settings);

/* ----------
 * Chooses the decoder of a type.
 * ----------
 */

/*
 * Choose and set up the decoder of a type, for a column with this typmod, or
 * -1.  The space for values is borrowed.  Its memory must be aligned, and its
 * size a multiple of MAXIMUM_ALIGNOF; the caller empties it after each row.
 * Allocates in CurrentMemoryContext, which must live as long as the decoder.
 * If a type has no decoder, decoder->decode is NULL, and the caller uses
 * decode_by_input_function().  A type without an input function is an error.
 */
extern void choose_decoder(ColumnDecoder *decoder, ValueSpace *space,
						   Oid type_id, int32 typmod);

#endif							/* PARDUMP_CHOOSE_H */

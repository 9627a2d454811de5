/*-------------------------------------------------------------------------
 *
 * choose.h
 *	  Chooses the encoder and the decoder of a column.
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
 * Choose and set up the encoder of a type, by its function for the format of
 * the settings, which are borrowed.  Allocates in CurrentMemoryContext, which
 * must outlive the encoder.  Values of types without a fast encoder go
 * through their own function; a type that has none is an error.
 */
extern void choose_encoder(ColumnEncoder *encoder, Oid type_id,
						   const EncodeSettings *settings);

/* ----------
 * Chooses the decoder of a type.
 * ----------
 */

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

#endif							/* PARDUMP_CHOOSE_H */

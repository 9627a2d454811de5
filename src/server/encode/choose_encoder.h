/*-------------------------------------------------------------------------
 *
 * choose_encoder.h
 *	  Chooses the encoder of a type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_CHOOSE_ENCODER_H
#define PARDUMP_CHOOSE_ENCODER_H

#include "encode/column_encoder.h"

/*
 * Choose and set up the encoder of a type, by its function for the format of
 * the settings, which are borrowed.  Allocates in CurrentMemoryContext, which
 * must outlive the encoder.  Values of types without a fast encoder go
 * through their own function; a type that has none is an error.
 */
extern void choose_encoder(ColumnEncoder *encoder, Oid type_id,
						   const EncodeSettings *settings);

#endif							/* PARDUMP_CHOOSE_ENCODER_H */

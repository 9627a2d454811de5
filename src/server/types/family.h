/*-------------------------------------------------------------------------
 *
 * family.h
 *	  The families of encoders and decoders, among which choose.c looks.
 *
 * A family is what one file offers for a group of types.  Each function here
 * is an EncoderFamily or a DecoderFamily (types/column.h), except those of
 * arrays, whose elements have encoders and decoders of their own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_FAMILY_H
#define PARDUMP_FAMILY_H

#include "types/column.h"

/*
 * number.c: bool, integers, object and transaction ids, floats; and the
 * binary form of types for which it is nearly the stored form
 */
extern EncodeFunction number_encoder(Oid type_function);
extern DecodeFunction number_decoder(Oid input_function,
									 ColumnDecoder *decoder);

/* numeric.c */
extern EncodeFunction numeric_encoder(Oid type_function);
extern DecodeFunction numeric_decoder(Oid input_function,
									  ColumnDecoder *decoder);

/*
 * text.c: types whose value is their text, enums, and types that are written
 * as hexadecimal digits
 */
extern EncodeFunction text_encoder(Oid type_function);
extern DecodeFunction text_decoder(Oid input_function, ColumnDecoder *decoder);

/* datetime.c: date, time, timestamp, both with zones, and interval */
extern EncodeFunction datetime_encoder(Oid type_function);
extern DecodeFunction datetime_decoder(Oid input_function,
									   ColumnDecoder *decoder);

/* network.c: inet and cidr */
extern EncodeFunction network_encoder(Oid type_function);
extern DecodeFunction network_decoder(Oid input_function,
									  ColumnDecoder *decoder);

/* json.c, jsonb.c; text.c encodes json, whose value is its text */
extern DecodeFunction json_decoder(Oid input_function,
								   ColumnDecoder *decoder);
extern EncodeFunction jsonb_encoder(Oid type_function);
extern DecodeFunction jsonb_decoder(Oid input_function,
									ColumnDecoder *decoder);

/*
 * The encoder of arrays, if that is the type's function, and if their
 * elements are such that it is exact; else NULL.  Sets up encoder->state, in
 * CurrentMemoryContext, but for the encoder of the elements: *element is
 * there for the caller to choose it, of the type that is its type_id.
 */
extern EncodeFunction array_encoder(Oid type_function, ColumnEncoder *encoder,
									ColumnEncoder **element);

/*
 * As a DecoderFamily, but the element's decoder, to which *element points, is
 * left to be chosen: for (*element)->type_id, with the array's typmod.  If
 * there turns out to be none, the array has none.
 */
extern DecodeFunction array_decoder(Oid input_function,
									ColumnDecoder *decoder,
									ColumnDecoder **element);

#endif							/* PARDUMP_FAMILY_H */

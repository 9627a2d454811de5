/*-------------------------------------------------------------------------
 *
 * family.h
 *	  The families of encoders and decoders, among which choose.c looks.
 *
 * A family is what one file offers for a group of types: tables of encoders
 * and decoders.  Arrays have functions instead, since their elements have
 * encoders and decoders of their own.
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
extern const EncoderRow number_encoders[];
extern const DecoderRow number_decoders[];

/* numeric.c */
extern const EncoderRow numeric_encoders[];
extern const DecoderRow numeric_decoders[];

/*
 * text.c: types whose value is their text, enums, and types that are written
 * as hexadecimal digits
 */
extern const EncoderRow text_encoders[];
extern const DecoderRow text_decoders[];

/* datetime.c: date, time, timestamp, both with zones, and interval */
extern const EncoderRow datetime_encoders[];
extern const DecoderRow datetime_decoders[];

/* network.c: inet and cidr */
extern const EncoderRow network_encoders[];
extern const DecoderRow network_decoders[];

/* json.c, jsonb.c; text.c encodes json, whose value is its text */
extern const DecoderRow json_decoders[];
extern const EncoderRow jsonb_encoders[];
extern const DecoderRow jsonb_decoders[];

/*
 * The row's decoder for a column, whose typmod is set; sets up
 * decoder->state in CurrentMemoryContext, which must outlive the decoder.
 */
static inline DecodeFunction
decoder_of_row(const DecoderRow *row, ColumnDecoder *decoder)
{
	decoder->variant = row->variant;
	if (row->state_bytes > 0)
		decoder->state = palloc(row->state_bytes);
	/* no type has a smaller typmod that limits more than digits */
	if (row->unlimited && decoder->typmod < (int32) VARHDRSZ)
		return row->unlimited;
	return row->decode;
}

/*
 * The encoder of arrays, if that is the type's function, and if their
 * elements are such that it is exact; else NULL.  Sets up encoder->state, in
 * CurrentMemoryContext, with the encoder that choose_encoder() gives the
 * elements.
 */
extern EncodeFunction array_encoder(Oid type_function,
									ColumnEncoder *encoder);

/* The same of decoders.  If the elements have none, the array has none. */
extern DecodeFunction array_decoder(Oid input_function,
									ColumnDecoder *decoder);

#endif							/* PARDUMP_FAMILY_H */

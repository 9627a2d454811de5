/*-------------------------------------------------------------------------
 *
 * family.h
 *	  Declares the tables of encoders and decoders of all files in types/,
 *	  and the functions for numeric values.
 *
 * choose.c searches these tables.  A family is the encoders and decoders that
 * one file has for a group of types.  Arrays have functions instead of
 * tables, because the encoder of an array also depends on that of its
 * elements.  jsonb.c calls the functions of numeric.c for the numbers in a
 * jsonb, which are stored as numeric values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_FAMILY_H
#define PARDUMP_FAMILY_H

#include "utils/numeric.h"

#include "bytes/byte_buffer.h"
#include "types/column.h"

/*
 * number.c: bool, integers, OIDs, transaction IDs and floats; and the binary
 * form of all types for which this is nearly the stored form
 */
extern const EncoderRow number_encoders[];
extern const DecoderRow number_decoders[];

/* numeric.c */
extern const EncoderRow numeric_encoders[];
extern const DecoderRow numeric_decoders[];

/*
 * Append the text of numeric_out() at "to", and return its end.  The text
 * contains no characters that must be escaped.  The numeric may have a short
 * header, and may be unaligned, but must not be compressed or out of line.
 */
extern char *append_numeric(ByteBuffer *out, char *to, Numeric num);

/* The room that the value of a text of "len" bytes may need. */
#define NUMERIC_ROOM(len)	(VARHDRSZ + sizeof(uint16) + \
							 sizeof(int16) * ((Size) (len) / 4 + 4))

/*
 * Convert a text to the numeric that numeric_in() makes of it.  "to" must be
 * aligned as an int, and have NUMERIC_ROOM(len) bytes.  FIELD_PADDING must
 * follow the text.  Returns the size of the numeric, including its header.
 * Returns 0 if the text does not consist of digits, with an optional minus
 * before and a point between them; if it is too long; or if the value must be
 * rounded to the typmod or does not fit (-1 = no typmod).
 */
extern Size put_numeric_of_text(char *to, const char *text, Size len,
								int32 typmod);

/*
 * text.c: types whose stored value is their text, enums, and types that are
 * written as hexadecimal digits
 */
extern const EncoderRow text_encoders[];
extern const DecoderRow text_decoders[];

/* datetime.c: date, time, timetz, timestamp, timestamptz and interval */
extern const EncoderRow datetime_encoders[];
extern const DecoderRow datetime_decoders[];

/* network.c: inet and cidr */
extern const EncoderRow network_encoders[];
extern const DecoderRow network_decoders[];

/* json.c, jsonb.c.  text.c encodes json, as its stored value is its text. */
extern const DecoderRow json_decoders[];
extern const EncoderRow jsonb_encoders[];
extern const DecoderRow jsonb_decoders[];

/*
 * Return the decode function of a row for a column, whose decoder->typmod is
 * set, or NULL.  Allocates decoder->state in CurrentMemoryContext, which must
 * live as long as the decoder.
 */
static inline DecodeFunction
decoder_of_row(const DecoderRow *row, ColumnDecoder *decoder)
{
	decoder->variant = row->variant;
	if (row->state_bytes > 0)
		decoder->state = palloc(row->state_bytes);

	/*
	 * The types with an "unlimited" function are varchar, char and interval.
	 * Their typmods that limit anything are at least VARHDRSZ.
	 */
	if (row->unlimited && decoder->typmod < (int32) VARHDRSZ)
		return row->unlimited;
	return row->decode;
}

/*
 * Return the encoder of arrays if the function is that of arrays, and if the
 * encoder is exact for the type of the elements; otherwise NULL.  Allocates
 * encoder->state in CurrentMemoryContext, with the encoder that
 * choose_encoder() finds for the elements.
 */
extern EncodeFunction array_encoder(Oid type_function,
									ColumnEncoder *encoder);

/*
 * The same for decoders.  Returns NULL if the type of the elements has no
 * decoder.
 */
extern DecodeFunction array_decoder(Oid input_function,
									ColumnDecoder *decoder);

#endif							/* PARDUMP_FAMILY_H */

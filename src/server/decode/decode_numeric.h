/*-------------------------------------------------------------------------
 *
 * decode_numeric.h
 *	  Decoder of numeric.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DECODE_NUMERIC_H
#define PARDUMP_DECODE_NUMERIC_H

#include "decode/column_decoder.h"

/* A DecoderFamily. */
extern DecodeFunction numeric_decoder(Oid input_function,
									  ColumnDecoder *decoder);

/* The room that the value of a text of "len" bytes may need. */
#define NUMERIC_ROOM(len)	(VARHDRSZ + sizeof(uint16) + \
							 sizeof(int16) * ((Size) (len) / 4 + 4))

/*
 * Write the numeric that numeric_in() makes of a text of digits, which may
 * have a minus before and a point among them, to a place that is aligned as
 * an int and has NUMERIC_ROOM(len).  FIELD_PADDING is behind the text.
 * Returns the numeric's size, header included, or 0 for another text, or one
 * that is too long, or not exactly a value of the typmod (-1: none).
 */
extern Size put_numeric_of_text(char *to, const char *text, Size len,
								int32 typmod);

#endif							/* PARDUMP_DECODE_NUMERIC_H */

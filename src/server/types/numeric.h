/*-------------------------------------------------------------------------
 *
 * numeric.h
 *	  Converts between the text of a numeric and its stored form.
 *
 * jsonb.c uses these functions for the numbers in a jsonb, which are stored
 * as numeric values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_NUMERIC_H
#define PARDUMP_NUMERIC_H

#include "utils/numeric.h"

#include "bytes/byte_buffer.h"

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

#endif							/* PARDUMP_NUMERIC_H */

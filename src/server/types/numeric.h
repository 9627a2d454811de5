/*-------------------------------------------------------------------------
 *
 * numeric.h
 *	  The text of numeric to and from its stored form, for types that contain
 *	  one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_NUMERIC_H
#define PARDUMP_NUMERIC_H

#include "utils/numeric.h"

#include "bytes/byte_buffer.h"

/*
 * Append what numeric_out() gives, which needs no escapes, at "to", and
 * return its end.  The numeric has a short or a plain header and may be
 * unaligned; it is not compressed or out of line.
 */
extern char *append_numeric(ByteBuffer *out, char *to, Numeric num);

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

#endif							/* PARDUMP_NUMERIC_H */

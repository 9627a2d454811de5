/*-------------------------------------------------------------------------
 *
 * array_quote.h
 *	  The quotes that an element of an array's text needs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ARRAY_QUOTE_H
#define PARDUMP_ARRAY_QUOTE_H

#include "postgres.h"

#include "bytes/byte_buffer.h"

/*
 * Give the element that stands at the end of the buffer, from "start" on and
 * with COPY's escapes, the quotes and backslashes that it needs in an array
 * of this delimiter (',' or ';'), COPY's escapes included.  "quoted" tells
 * that an opening quote stands there already, which goes if it is not needed.
 * Returns whether quotes stand around the element now.
 */
extern bool array_quote(ByteBuffer *out, Size start, bool quoted,
						char delimiter);

#endif							/* PARDUMP_ARRAY_QUOTE_H */

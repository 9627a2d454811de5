/*-------------------------------------------------------------------------
 *
 * line_splitter.h
 *	  Cuts COPY's text format into lines and fields.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_LINE_SPLITTER_H
#define PARDUMP_LINE_SPLITTER_H

#include "postgres.h"

#include "load/copy_stream.h"
#include "load/field.h"

typedef struct LineSplitter LineSplitter;

typedef enum LineKind
{
	LINE_WHOLE,
	LINE_INCOMPLETE,			/* the stream has to be filled */
	LINE_UNUSUAL				/* for the server's own COPY */
} LineKind;

/*
 * A splitter of lines of "n_fields" (at least one).  Allocates in
 * CurrentMemoryContext, which must outlive it.
 */
extern LineSplitter *line_splitter_new(CopyStream *stream, int n_fields);

/*
 * Split the line that the stream is at, and take it from the stream.  Its
 * length, without the newline, goes to *line_len, and fields[0..n_fields) are
 * valid up to the next call of this function or of copy_stream_fill().
 * A line that is not whole stays in the stream.
 *
 * Unusual is what a dump does not have, and what is an error: any newline but
 * \n, the end marker, octal and hexadecimal escapes, a newline behind a
 * backslash, another number of fields, and bytes that are not valid.
 */
extern LineKind line_splitter_next(LineSplitter *splitter, Field *fields,
								   Size *line_len);

/* To be called after the stream has been filled, whose bytes have moved. */
extern void line_splitter_restart(LineSplitter *splitter);

#endif							/* PARDUMP_LINE_SPLITTER_H */

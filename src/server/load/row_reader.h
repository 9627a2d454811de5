/*-------------------------------------------------------------------------
 *
 * row_reader.h
 *	  Makes rows of the lines of COPY's text format.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ROW_READER_H
#define PARDUMP_ROW_READER_H

#include "commands/copyfrom_internal.h"
#include "nodes/execnodes.h"

#include "load/copy_stream.h"

/* ----------
 * Cuts COPY's text format into lines and fields.
 * ----------
 */

/* A field as it stands in the line. */
typedef struct Field
{
	char	   *text;			/* borrowed from the stream */
	uint32		len;
	bool		escaped;		/* there is a backslash in it */
} Field;

/* Does the field stand for NULL? */
static inline bool
field_is_null(const Field *field)
{
	return field->escaped && field->len == 2 && field->text[1] == 'N';
}

/*
 * Write a field without its escapes to a place that has room for its length
 * and FIELD_PADDING.  Octal and hexadecimal escapes are not among them, and
 * the last backslash has a character behind it.  Returns the new length.
 */
extern Size field_unescape(const Field *field, char *to);

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

typedef struct RowReader RowReader;

/*
 * The reader of a COPY that BeginCopyFrom() has begun on the frontend's
 * connection, with the database's encoding on both sides and at least one
 * column; borrowed.  Allocates in CurrentMemoryContext, which must outlive
 * the reader.
 */
extern RowReader *row_reader_new(CopyFromState cstate);

/*
 * Read the next row's values into these arrays, which are of the table's
 * columns, and are the same ones at each call.  Returns false at the end of
 * data.  The length of its line, without the newline, goes to *line_len.
 *
 * To be called, as NextCopyFrom(), in the row's memory context, which is that
 * of econtext.  In cstate is what row_reader_error_context() needs.
 */
extern bool row_reader_next(RowReader *reader, ExprContext *econtext,
							Datum *values, bool *isnull, Size *line_len);

/* An ErrorContextCallback for a RowReader: as CopyFromErrorCallback(). */
extern void row_reader_error_context(void *reader);

#endif							/* PARDUMP_ROW_READER_H */

/*-------------------------------------------------------------------------
 *
 * row_reader.h
 *	  Makes rows of the lines of COPY's text format.
 *
 * load_copy.c reads all rows of a COPY with a RowReader.  The line splitter
 * is declared here because test/fuzz and test/simd test it by itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ROW_READER_H
#define PARDUMP_ROW_READER_H

#include "nodes/execnodes.h"

#include "load/copy_stream.h"

/* ----------
 * Splits COPY's text format into lines and fields.
 * ----------
 */

/* A field of a line, with its escapes. */
typedef struct Field
{
	char	   *text;			/* borrowed from the stream */
	uint32		len;
	bool		escaped;		/* it contains a backslash */
} Field;

/* Is the field "\N", which means NULL? */
static inline bool
field_is_null(const Field *field)
{
	return field->escaped && field->len == 2 && field->text[1] == 'N';
}

/*
 * Write a field with its escapes resolved.  "to" must have room for the
 * field's length and FIELD_PADDING.  The field must contain no octal or
 * hexadecimal escapes, and no backslash as its last character; the splitter
 * ensures both.  Returns the new length.
 */
extern Size field_unescape(const Field *field, char *to);

typedef struct LineSplitter LineSplitter;

typedef enum LineKind
{
	LINE_WHOLE,
	LINE_INCOMPLETE,			/* more data is needed in the stream */
	LINE_UNUSUAL				/* the server's own COPY has to read it */
} LineKind;

/*
 * Create a splitter for lines of "n_fields" fields (at least one).  Allocates
 * in CurrentMemoryContext, which must live as long as the splitter.
 */
extern LineSplitter *line_splitter_new(CopyStream *stream, int n_fields);

/*
 * Split the next line of the stream, and remove it from the stream.
 * *line_len becomes its length without the newline.  fields[0..n_fields) are
 * valid until the next call of this function or of copy_stream_fill().  An
 * incomplete or unusual line remains in the stream.
 *
 * Unusual are lines that do not occur in dumps, and lines with an error:
 * newlines other than \n, the end marker, octal and hexadecimal escapes, a
 * newline after a backslash, another number of fields, and invalid bytes.
 */
extern LineKind line_splitter_next(LineSplitter *splitter, Field *fields,
								   Size *line_len);

/*
 * Begin at the start of the stream again.  This must be called after the
 * stream has been filled, as its bytes have moved.
 */
extern void line_splitter_restart(LineSplitter *splitter);

typedef struct RowReader RowReader;

/*
 * Create the reader of a COPY that BeginCopyFrom() has begun; its state is
 * borrowed.  The data must come from the client, be in the database's
 * encoding, and have at least one column.  Allocates in CurrentMemoryContext,
 * which must live as long as the reader.
 */
extern RowReader *row_reader_new(CopyFromState cstate);

/*
 * Read the values of the next row into these arrays, which have an element
 * for each column of the table, and must be the same in each call.  *line_len
 * becomes the length of the row's line without the newline.  Returns false at
 * the end of data.
 *
 * Like NextCopyFrom(), this must be called in the memory context of the row,
 * which is that of econtext.  Stores the information for
 * row_reader_error_context() in the state of the COPY.
 */
extern bool row_reader_next(RowReader *reader, ExprContext *econtext,
							Datum *values, bool *isnull, Size *line_len);

/*
 * An ErrorContextCallback, whose argument is a RowReader: adds the context of
 * CopyFromErrorCallback().
 */
extern void row_reader_error_context(void *reader);

#endif							/* PARDUMP_ROW_READER_H */

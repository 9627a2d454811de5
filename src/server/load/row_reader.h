/*-------------------------------------------------------------------------
 *
 * row_reader.h
 *	  Makes rows of the lines of COPY's text format.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ROW_READER_H
#define PARDUMP_ROW_READER_H

#include "postgres.h"

#include "commands/copyfrom_internal.h"
#include "nodes/execnodes.h"

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

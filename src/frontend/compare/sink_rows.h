/*
 * sink_rows.h
 *		A last sink that takes rows apart, as lines of COPY's text format.
 */
#ifndef SINK_ROWS_H
#define SINK_ROWS_H

#include "stream/sink.h"

/* A row, without what ends its line; borrowed. */
typedef void (*RowCallback) (void *arg, const char *row, size_t len);

/*
 * Calls row for each line.  Memory: that of the longest line.  One that is
 * longer than a server's can be, and what is left without an end when it is
 * finished, is an error, with which it exits.
 */
extern Sink *sink_rows_new(RowCallback row, void *arg);

/*
 * Field number no, from 0, of a row: where it begins;
 * *len is its length.  Exits with a message if the row has not as many.
 */
extern const char *sink_rows_field(const char *row, size_t row_len, int no,
								   size_t *len);

#endif							/* SINK_ROWS_H */

/*-------------------------------------------------------------------------
 *
 * row_encoder.h
 *	  Encodes heap tuples as rows in a format of COPY.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ROW_ENCODER_H
#define PARDUMP_ROW_ENCODER_H

#include "postgres.h"

#include "access/htup.h"
#include "utils/relcache.h"

#include "bytes/byte_buffer.h"
#include "encode/row_format.h"
#include "heap/toast_reader.h"

typedef struct RowEncoder RowEncoder;

/*
 * An encoder of the given attributes, in the given order, under the session's
 * settings of now.  Allocates in CurrentMemoryContext; the relation must stay
 * open.
 */
extern RowEncoder *row_encoder_new(Relation rel, const AttrNumber *attnums,
								   int n_attnums, RowFormat format);

/* Have a watcher told of values out of line: toast_reader_watch(). */
extern void row_encoder_watch(RowEncoder *encoder, ToastWatcher watcher,
							  void *arg);

/* Append what stands before the first row, and behind the last one. */
extern void row_encoder_begin(RowEncoder *encoder, ByteBuffer *out);
extern void row_encoder_end(RowEncoder *encoder, ByteBuffer *out);

/*
 * Append a tuple's row.  Stops between two values, and returns false, once
 * the buffer holds "limit" bytes: call again with the same tuple to go on.
 * True when the row is complete.  A value that passes 1 GB there is an error,
 * and so is damage (ERRCODE_DATA_CORRUPTED).
 */
extern bool row_encode(RowEncoder *encoder, HeapTuple tuple, ByteBuffer *out,
					   Size limit);

/* The column being encoded, for an error's context; NULL if none is. */
extern const char *row_encoder_column(const RowEncoder *encoder);

/* Release the encoder and all that it holds. */
extern void row_encoder_free(RowEncoder *encoder);

#endif							/* PARDUMP_ROW_ENCODER_H */

/*-------------------------------------------------------------------------
 *
 * copy_stream.h
 *	  Receives the data that a client sends for COPY ... FROM STDIN, as a
 *	  stream of bytes.
 *
 * row_reader.c reads the stream.  The stream reads only messages with data.
 * It leaves the end of data, a failure that the client reports, and messages
 * that are not allowed to the server's own COPY, which handles them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_COPY_STREAM_H
#define PARDUMP_COPY_STREAM_H

#include "commands/copyfrom_internal.h"

/*
 * data[start..end) are the bytes that have been read but not used yet.  The
 * bytes before "valid" are valid in the database's encoding, and none of them
 * is zero.  If "valid" is not "end", an invalid or incomplete character
 * follows.  STREAM_PADDING zeros after the end can be read.
 */
#define STREAM_PADDING	64

typedef struct CopyStream
{
	CopyFromState cstate;		/* borrowed */
	char	   *data;			/* owned */
	Size		start;
	Size		end;
	Size		valid;
	Size		size;			/* allocated, without the padding */
} CopyStream;

/*
 * Initialize the stream of a COPY that BeginCopyFrom() has begun.  The data
 * must come from the client, and be in the database's encoding.  Allocates in
 * CurrentMemoryContext, which must live as long as the COPY.
 */
extern void copy_stream_init(CopyStream *stream, CopyFromState cstate);

/*
 * Read messages until the stream contains at least COPY_STREAM_BLOCK bytes,
 * and at least twice the bytes that were unused before.  Reads less if there
 * is a complete line and the client has sent no more: a slow client must get
 * the error for a line without sending more, as it does from the server.
 * Moves the unused bytes to the front.  Returns false if nothing could be
 * read, so that the server has to read the rest.
 */
#define COPY_STREAM_BLOCK	(128 * 1024)
extern bool copy_stream_fill(CopyStream *stream);

/*
 * Pass the unused bytes to the server's own COPY, which continues with them.
 * The stream cannot be used after that.
 */
extern void copy_stream_hand_over(CopyStream *stream);

#endif							/* PARDUMP_COPY_STREAM_H */

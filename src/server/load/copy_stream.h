/*-------------------------------------------------------------------------
 *
 * copy_stream.h
 *	  The data that a client sends for COPY ... FROM STDIN, as a stream of
 *	  bytes.
 *
 * The stream reads the messages with data, and no other.  The end of data, a
 * failure that the client reports, a lost connection and messages that are
 * not allowed are left in place, for the server's own COPY to handle.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_COPY_STREAM_H
#define PARDUMP_COPY_STREAM_H

#include "commands/copyfrom_internal.h"

/*
 * The bytes that were read and not yet used are data[start..end).  Those up
 * to "valid" are valid in the database's encoding, and none of them is zero;
 * if that is not all, an invalid or incomplete character follows.
 * STREAM_PADDING zeros behind the end can be read.
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
 * The stream of a COPY that BeginCopyFrom() has begun on the frontend's
 * connection, with the database's encoding on both sides.  Allocates in
 * CurrentMemoryContext, which must outlive that COPY.
 */
extern void copy_stream_init(CopyStream *stream, CopyFromState cstate);

/*
 * Read more, so that there are COPY_STREAM_BLOCK bytes, or, if as many are
 * still unused, twice that, and the rest of a message.  Less if a line has
 * come and the client has sent no more so far: a slow one hears of an error
 * in a line when it has sent it, as from the server.  Moves what is unused to
 * the front.  Returns false if there was nothing to read: the rest is the
 * server's.
 */
#define COPY_STREAM_BLOCK	(128 * 1024)
extern bool copy_stream_fill(CopyStream *stream);

/*
 * Give what is unused to the server's own COPY, which continues from there.
 * Nothing can be read from the stream any more.
 */
extern void copy_stream_hand_over(CopyStream *stream);

#endif							/* PARDUMP_COPY_STREAM_H */

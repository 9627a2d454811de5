/*-------------------------------------------------------------------------
 *
 * block_stream.h
 *	  The buffers of a range of a relation's blocks, one after the other, read
 *	  through a ring that keeps the rest of the buffer cache in place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_BLOCK_STREAM_H
#define PARDUMP_BLOCK_STREAM_H

#include "postgres.h"

#include "storage/buf.h"
#include "utils/relcache.h"

typedef struct BlockStream BlockStream;

/*
 * The blocks start <= b < end of the main fork; all must exist.  Allocates in
 * CurrentMemoryContext.  The relation must stay open.
 */
extern BlockStream *block_stream_new(Relation rel, BlockNumber start,
									 BlockNumber end);

/*
 * The next block's buffer, pinned for the caller; InvalidBuffer at the end.
 */
extern Buffer block_stream_next(BlockStream *stream);

/* Release the stream and its ring, not the buffers it has returned. */
extern void block_stream_free(BlockStream *stream);

#endif							/* PARDUMP_BLOCK_STREAM_H */

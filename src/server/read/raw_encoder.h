/*-------------------------------------------------------------------------
 *
 * raw_encoder.h
 *	  Encodes heap tuples as blocks of raw tuples (read/raw_block.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RAW_ENCODER_H
#define PARDUMP_RAW_ENCODER_H

#include "postgres.h"

#include "access/htup.h"
#include "utils/relcache.h"

#include "bytes/byte_buffer.h"
#include "read/raw_block.h"

typedef struct RawEncoder RawEncoder;

/*
 * An encoder of the given attributes, in the given order.  Raises an error if
 * values of one of them cannot be taken as they are stored.  Allocates in
 * CurrentMemoryContext; the relation must stay open.
 */
extern RawEncoder *raw_encoder_new(Relation rel, const AttrNumber *attnums,
								   int n_attnums);

/* Blocks' headers: all but what the block itself comes to. */
extern const RawBlockHeader *raw_encoder_header(const RawEncoder *encoder);

/*
 * Look at a tuple, which must stay where it is until it is appended: how many
 * bytes its frame can take at most.  Damage is an error (XX001), also one
 * that is met in the TOAST table, and so is a row of 1 GB (54000).
 */
extern Size raw_encoder_take(RawEncoder *encoder, HeapTuple tuple);

/*
 * Append the frame of the tuple taken last.  The first frame of a block
 * begins at "start" in the buffer.
 */
extern void raw_encoder_append(RawEncoder *encoder, ByteBuffer *out,
							   Size start);

/*
 * The column whose value is being fetched, for an error's context, or NULL.
 */
extern const char *raw_encoder_column(const RawEncoder *encoder);

/* Release the encoder and all that it holds. */
extern void raw_encoder_free(RawEncoder *encoder);

#endif							/* PARDUMP_RAW_ENCODER_H */

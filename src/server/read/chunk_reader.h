/*-------------------------------------------------------------------------
 *
 * chunk_reader.h
 *	  The rows of a block range as blocks of COPY's output, or of raw tuples,
 *	  compressed if asked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_CHUNK_READER_H
#define PARDUMP_CHUNK_READER_H

#include "utils/snapshot.h"

#include "read/fingerprint.h"
#include "shared/compress.h"
#include "types/column.h"

typedef struct ChunkReader ChunkReader;

/* What becomes of the rows. */
typedef struct ChunkFormat
{
	RowFormat	format;
	CompressSpec compress;
	bool		chooses_blocks; /* of raw tuples: compress only those that
								 * become much smaller by that, judged by
								 * their beginnings */
} ChunkFormat;

/*
 * Read the columns of the rows that the snapshot sees in a range, which is
 * borrowed.  If "fingerprint" is not NULL, which it is for raw tuples, all
 * rows are added to it, too; it is borrowed.  Allocates in
 * CurrentMemoryContext, which must live as long as the reader; deleting it,
 * as an error does, frees all that is not the resource owner's.  The relation
 * must stay open and the snapshot registered.
 */
extern ChunkReader *chunk_reader_new(const HeapRange *range,
									 Snapshot snapshot,
									 const ChunkFormat *format,
									 RangeFingerprint *fingerprint);

/*
 * The next bytes of the chunk, never empty: about 1 MiB of COPY's output, or
 * what the compressor made of some such blocks.  All values of a chunk after
 * each other are all the output, or one compressed stream of it.  Of raw
 * tuples each value is a block (read/raw_block.h).  Valid up to
 * the next call; NULL at the end.  Errors come with the table, and the row's
 * place where it is known, as their context.
 */
extern bytea *chunk_reader_next(ChunkReader *reader);

/* So far: whole rows, and the bytes of output before compression. */
extern void chunk_reader_count(const ChunkReader *reader, uint64 *rows,
							   uint64 *bytes);

/*
 * Release what the reader holds of the server.  Its memory goes with its
 * context, and the compressor's with that.
 */
extern void chunk_reader_free(ChunkReader *reader);

#endif							/* PARDUMP_CHUNK_READER_H */

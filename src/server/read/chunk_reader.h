/*-------------------------------------------------------------------------
 *
 * chunk_reader.h
 *	  Reads a block range of a table as blocks of COPY's output or of raw
 *	  tuples, which may be compressed.
 *
 * function/read_function.c returns these blocks as the rows of
 * pg_pardump_read().
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_CHUNK_READER_H
#define PARDUMP_CHUNK_READER_H

#include "read/fingerprint.h"
#include "shared/compress.h"
#include "types/column.h"

typedef struct ChunkReader ChunkReader;

/* The form of the result. */
typedef struct ChunkFormat
{
	RowFormat	format;
	CompressSpec compress;
	bool		chooses_blocks; /* compress a block of raw tuples only if a
								 * sample of it becomes much smaller */
} ChunkFormat;

/*
 * Create a reader for columns of the rows that the snapshot sees in a range.
 * The range is borrowed; its relation must stay open, and the snapshot
 * registered.  If "fingerprint" is not NULL, all rows are added to it; it is
 * borrowed, and must be NULL for raw tuples.  Allocates in
 * CurrentMemoryContext, which must live as long as the reader.  After an
 * error, the context is deleted, and the resource owner releases all pins,
 * locks and relations.
 */
extern ChunkReader *chunk_reader_new(const HeapRange *range,
									 Snapshot snapshot,
									 const ChunkFormat *format,
									 RangeFingerprint *fingerprint);

/*
 * Return the next bytes of the chunk, or NULL at the end.  They are valid
 * until the next call.
 *
 * A value of COPY's output has about 1 MiB and is never empty; it is a part
 * of the output, or of a compressed stream that contains all of it.  A value
 * with raw tuples is one block (read/raw_block.h).  Errors have the table,
 * and the place of the row if it is known, in their context.
 */
extern bytea *chunk_reader_next(ChunkReader *reader);

/*
 * Return the number of complete rows so far, and that of the bytes of output
 * before compression.
 */
extern void chunk_reader_count(const ChunkReader *reader, uint64 *rows,
							   uint64 *bytes);

/*
 * Release pins and relations.  The memory of the reader is freed with its
 * context, and with it that of the compressor.
 */
extern void chunk_reader_free(ChunkReader *reader);

#endif							/* PARDUMP_CHUNK_READER_H */

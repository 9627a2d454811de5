/*-------------------------------------------------------------------------
 *
 * raw_block.h
 *	  Blocks of raw tuples: rows as a heap stores them, on their way from one
 *	  server to another.
 *
 * A block is a header and frames, which may be compressed as a whole.  A
 * frame is a row: 32 bits with flags and a length, and that number of bytes
 * of a heap tuple (src/include/access/htup_details.h), which is all of it but
 * the header's fixed part: the null bitmap if there is one, and the values.
 * The row's attributes are the columns that were asked for, in their order:
 * none is dropped or missing.  Where a value is out of line the tuple has its
 * pointer to disk, but zero behind the tag, and the value follows the tuple,
 * MAXALIGNed and with a header, compressed if it is stored so; the values of
 * a row are in the order of its columns.
 *
 * Numbers are in the byte order of the server, as all of this is.  The header
 * names what the layout depends on, so that another server can check whether
 * the layout is its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RAW_BLOCK_H
#define PARDUMP_RAW_BLOCK_H

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "common/sha2.h"

#include "shared/compress.h"

/* ----------
 * Blocks of raw tuples: rows as a heap stores them, on their way from one
 * server to another.
 * ----------
 */

/* With the header of a bytea before it, frames begin aligned. */
typedef struct RawBlockHeader
{
	char		magic[8];
	uint32		byte_order;
	uint8		version;		/* of this format */
	uint8		max_align;		/* MAXIMUM_ALIGNOF */
	uint8		datum_bytes;	/* sizeof(Datum) */
	uint8		name_bytes;		/* NAMEDATALEN */
	uint32		encoding;		/* of the database, pg_enc */
	uint32		n_columns;
	uint32		compression;	/* CompressMethod */
	uint32		n_rows;
	uint32		frame_bytes;	/* before compression */
	uint32		stored_bytes;	/* what follows the header */
	uint8		columns[PG_SHA224_DIGEST_LENGTH];	/* hash_columns() */
} RawBlockHeader;

/* A frame's first 32 bits */
#define RAW_HAS_NULLS		0x80000000	/* there is a null bitmap */
#define RAW_HAS_VARWIDTH	0x40000000	/* a value is of varying width */
#define RAW_HAS_EXTERNAL	0x20000000	/* a value follows the tuple */
#define RAW_TUPLE_BYTES		0x1fffffff	/* mask: the length */

/* Longer blocks are of one row. */
#define RAW_BLOCK_BYTES ((Size) 1024 * 1024)

/*
 * The longest value that can be sent and be a parameter: libpq.h's
 * PQ_LARGE_MESSAGE_LIMIT, less some bytes for the rest of a message.
 */
#define RAW_MAX_BYTES (MaxAllocSize - 1024)

/* Where in a heap tuple the bytes of a frame begin. */
static inline Size
raw_tuple_start(bool has_nulls)
{
	return has_nulls ? SizeofHeapTupleHeader
		: MAXALIGN(SizeofHeapTupleHeader);
}

/* The frames of a block, checked as far as the header goes. */
typedef struct RawBlock
{
	const char *frames;			/* MAXALIGNed */
	Size		frame_bytes;
	uint32		n_rows;
} RawBlock;

/* Begin a header of blocks of such rows; what is of one block is zero. */
extern void raw_block_header_init(RawBlockHeader *header, TupleDesc columns);

/*
 * Open a block for a table of this descriptor, which has no dropped columns.
 * Raises an error if the block is damaged, or of another layout, encoding or
 * list of columns.  The block, detoasted, must live as long as the frames.
 */
extern void raw_block_open(RawBlock *raw, bytea *block, TupleDesc columns);

/* ----------
 * The types whose stored values mean the same on every server.
 * ----------
 */

/*
 * The first column whose values cannot be taken as they are stored, and why:
 * half a sentence; NULL if there is none.
 */
extern const char *raw_columns_reason(TupleDesc columns);

#endif							/* PARDUMP_RAW_BLOCK_H */

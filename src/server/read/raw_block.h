/*-------------------------------------------------------------------------
 *
 * raw_block.h
 *	  The format of blocks of raw tuples: rows as a heap stores them, which
 *	  are sent from one server to another.
 *
 * chunk_reader.c makes blocks, and load/raw_loader.c inserts their rows.
 * Rows in this format need not be encoded and decoded, but both servers must
 * store tuples in the same way.
 *
 * A block consists of a header and frames.  All frames together may be
 * compressed.  A frame is a row.  It begins with 32 bits that contain flags
 * and a length, and this number of bytes of a heap tuple follows
 * (src/include/access/htup_details.h): the tuple without the fixed part of
 * its header, so its null bitmap, if there is one, and its values.  The
 * attributes of the tuple are the requested columns in their order; none is
 * dropped or missing.
 *
 * If a value is out of line, the tuple contains a TOAST pointer with zeros
 * after its tag.  The value itself follows the tuple.  It is MAXALIGNed, has
 * a header of four bytes, and is compressed if it is stored so.  The
 * out-of-line values of a row are in the order of its columns.
 *
 * Numbers are in the byte order of the server, like the tuples.  The header
 * contains the properties on which the layout of tuples depends, so that
 * another server can check whether it uses the same layout.
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
 * The format of blocks
 * ----------
 */

/*
 * The header of a block.  After the header of a bytea and this one, frames
 * are aligned.
 */
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

/* The first 32 bits of a frame */
#define RAW_HAS_NULLS		0x80000000	/* there is a null bitmap */
#define RAW_HAS_VARWIDTH	0x40000000	/* a value is of varying width */
#define RAW_HAS_EXTERNAL	0x20000000	/* a value follows the tuple */
#define RAW_TUPLE_BYTES		0x1fffffff	/* mask of the length */

/* The largest size of the frames of a block, unless it has only one row. */
#define RAW_BLOCK_BYTES ((Size) 1024 * 1024)

/*
 * The longest value that can be sent and be a parameter of a statement:
 * PQ_LARGE_MESSAGE_LIMIT of libpq.h, minus bytes for the rest of the message.
 */
#define RAW_MAX_BYTES (MaxAllocSize - 1024)

/* Return the offset in a heap tuple at which the bytes of a frame begin. */
static inline Size
raw_tuple_start(bool has_nulls)
{
	return has_nulls ? SizeofHeapTupleHeader
		: MAXALIGN(SizeofHeapTupleHeader);
}

/* The frames of a block whose header has been checked. */
typedef struct RawBlock
{
	const char *frames;			/* MAXALIGNed */
	Size		frame_bytes;
	uint32		n_rows;
} RawBlock;

/*
 * Initialize the header of blocks with these columns.  The members that
 * describe a single block are set to zero.
 */
extern void raw_block_header_init(RawBlockHeader *header, TupleDesc columns);

/*
 * Open a block for a table with this descriptor, which has no dropped
 * columns.  Raises an error if the block is damaged, or if its layout,
 * encoding or columns are different.  The block must be detoasted, and live
 * as long as the frames.
 */
extern void raw_block_open(RawBlock *raw, bytea *block, TupleDesc columns);

/* ----------
 * Portable types, whose stored values mean the same on every server
 * ----------
 */

/*
 * Return why these columns cannot be in a block of raw tuples: half a
 * sentence.  Returns NULL if all of their types are portable.
 */
extern const char *raw_columns_reason(TupleDesc columns);

#endif							/* PARDUMP_RAW_BLOCK_H */

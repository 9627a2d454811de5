/*-------------------------------------------------------------------------
 *
 * file_stream.h
 *	  A piece of a base backup: ranges of files, and what a tar archive has
 *	  around them, as one frame.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_FILE_STREAM_H
#define PARDUMP_FILE_STREAM_H

#include "access/xlogdefs.h"

#include "shared/compress.h"

/* ----------
 * Reads a range of a file of the cluster, as a base backup does.
 *
 * Files change while they are read, and may be removed.  The result has the
 * length that was asked for even then, since the client relies on that
 * length: what is longer is cut, and what is missing is filled with zeros.
 * WAL replay makes good what was written since the backup's start, and that
 * includes what made a file shorter (src/backend/backup/basebackup.c,
 * sendFile()).
 * ----------
 */

/* The file does not consist of pages. */
#define FILE_RANGE_NO_PAGES (-1)

/*
 * The SQLSTATE of the error for a file without pages that is gone, or another
 * one, in the middle of a range.
 */
#define FILE_RANGE_REPLACED ERRCODE_OBJECT_IN_USE

typedef struct FileRange
{
	const char *path;			/* below the data directory, canonical */
	int64		offset;			/* that of a page, if they are checked */
	int64		length;
	int64		first_block;	/* of the file's first page within its fork;
								 * or FILE_RANGE_NO_PAGES */
} FileRange;

/* The result of a range. */
typedef struct FileRangeResult
{
	int64		bytes;			/* that the file had; -1 if there is none */
	uint32		crc;			/* CRC-32C of the range, zeros included */
} FileRangeResult;

/* ----------
 * A piece of a base backup: ranges of files, and what a tar archive has
 * around them, as one frame.
 * ----------
 */

/* A piece that is compressed lies in memory, so its length is limited. */
#define FILE_STREAM_COMPRESSED_BYTES (64 * 1024 * 1024)

/* A header, a range of a file, and zeros, each of which may be missing. */
typedef struct FileStreamItem
{
	const char *header;
	size_t		header_len;
	FileRange	range;			/* no file if its path is NULL */
	int			padding;
	bool		required;		/* if there is no file, header, zeros and
								 * padding are still written */
} FileStreamItem;

/* A page whose checksum is wrong, also when it was read once more. */
typedef struct PageFailure
{
	int			item;			/* that the page is of */
	int64		block;			/* within the relation's fork */
	uint16		computed;
	uint16		stored;
} PageFailure;

/* The results of the items; owned by the stream's memory context. */
typedef struct FileStreamResult
{
	FileRangeResult *ranges;	/* of each item */
	PageFailure *failures;
	int			n_failures;
	int			max_failures;
} FileStreamResult;

typedef struct FileStream FileStream;

/*
 * The items, borrowed, one after the other.  Allocates in
 * CurrentMemoryContext, which must live as long as the stream, and frees it.
 * It is an error if they are to be compressed and can be longer than
 * FILE_STREAM_COMPRESSED_BYTES.
 */
extern FileStream *file_stream_new(const FileStreamItem *items, int n_items,
								   XLogRecPtr start_lsn,
								   const CompressSpec *compress);

/*
 * The next bytes of the piece, never empty, some 128 kB; valid up to the
 * next call.  NULL at its end.
 */
extern bytea *file_stream_next(FileStream *stream);

/* The results of the items, once the piece has ended; borrowed. */
extern const FileStreamResult *file_stream_result(const FileStream *stream);

#endif							/* PARDUMP_FILE_STREAM_H */

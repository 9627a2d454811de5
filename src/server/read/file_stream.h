/*-------------------------------------------------------------------------
 *
 * file_stream.h
 *	  Reads a piece of a base backup: ranges of files, with the tar headers
 *	  and padding around them, which may be compressed into one frame.
 *
 * function/file_function.c returns the result as the rows of
 * pg_pardump_read_files(), which the workers of pg_parbasebackup call.
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
 * Files may change or be removed while they are read.  The result always has
 * the requested length, since the client relies on that: bytes beyond it are
 * not read, and missing bytes are filled with zeros.  WAL replay repeats all
 * changes since the start of the backup, including the truncation of files
 * (src/backend/backup/basebackup.c, sendFile()).
 * ----------
 */

/* The file does not consist of pages. */
#define FILE_RANGE_NO_PAGES (-1)

/*
 * The SQLSTATE of the error for a file without pages that was removed or
 * replaced while a range of it was read.
 */
#define FILE_RANGE_REPLACED ERRCODE_OBJECT_IN_USE

typedef struct FileRange
{
	const char *path;			/* below the data directory, canonical */
	int64		offset;			/* of a page, if pages are verified */
	int64		length;
	int64		first_block;	/* of the file's first page within its fork;
								 * or FILE_RANGE_NO_PAGES */
} FileRange;

/* The result of a range. */
typedef struct FileRangeResult
{
	int64		bytes;			/* read from the file; -1 if there is none */
	uint32		crc;			/* CRC-32C of the range, zeros included */
} FileRangeResult;

/* ----------
 * Reads a piece of a base backup: ranges of files, with tar headers and
 * padding.
 * ----------
 */

/* The longest piece that is compressed, as all of it must be in memory. */
#define FILE_STREAM_COMPRESSED_BYTES (64 * 1024 * 1024)

/* A header, a range of a file, and zeros as padding; each may be missing. */
typedef struct FileStreamItem
{
	const char *header;
	size_t		header_len;
	FileRange	range;			/* path is NULL if there is no range */
	int			padding;
	bool		required;		/* if the file does not exist, write the
								 * header, zeros and the padding anyway */
} FileStreamItem;

/* A page whose checksum was still wrong when it was read again. */
typedef struct PageFailure
{
	int			item;			/* index of the item with the page */
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
 * Create a stream that consists of the items, which are borrowed, one after
 * the other.  Pages that were written after start_lsn are not verified.
 * Allocates in CurrentMemoryContext, which must live as long as the stream,
 * and with which it is freed.  It is an error if items to be compressed may
 * be longer than FILE_STREAM_COMPRESSED_BYTES.
 */
extern FileStream *file_stream_new(const FileStreamItem *items, int n_items,
								   XLogRecPtr start_lsn,
								   const CompressSpec *compress);

/*
 * Return the next bytes of the piece, about 128 kB and never empty, or NULL
 * at its end.  They are valid until the next call.
 */
extern bytea *file_stream_next(FileStream *stream);

/*
 * Return the results of the items, which are borrowed.  They are complete at
 * the end of the piece.
 */
extern const FileStreamResult *file_stream_result(const FileStream *stream);

#endif							/* PARDUMP_FILE_STREAM_H */

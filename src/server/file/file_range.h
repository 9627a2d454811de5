/*-------------------------------------------------------------------------
 *
 * file_range.h
 *	  Reads a range of a file of the cluster, as a base backup does.
 *
 * Files change while they are read, and may be removed.  The result has the
 * length that was asked for even then, since the client relies on that
 * length: what is longer is cut, and what is missing is filled with zeros.
 * WAL replay makes good what was written since the backup's start, and that
 * includes what made a file shorter (src/backend/backup/basebackup.c,
 * sendFile()).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_FILE_RANGE_H
#define PARDUMP_FILE_RANGE_H

#include "postgres.h"

#include "access/xlogdefs.h"

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

/* What came of it. */
typedef struct FileRangeResult
{
	int64		bytes;			/* that the file had; -1 if there is none */
	uint32		crc;			/* CRC-32C of the range, zeros included */
} FileRangeResult;

/* A page whose checksum is wrong, also when it was read once more. */
typedef struct PageFailure
{
	int64		block;			/* within the relation's fork */
	uint16		computed;
	uint16		stored;
} PageFailure;

typedef void (*PageFailureCallback) (void *arg, const PageFailure *failure);

typedef struct FileRangeReader FileRangeReader;

/*
 * A reader for one range after the other, in CurrentMemoryContext.  Pages
 * that were written since start_lsn may be torn, and are not checked; so none
 * is if start_lsn is 0.
 */
extern FileRangeReader *file_range_reader_new(XLogRecPtr start_lsn,
											  PageFailureCallback failed,
											  void *arg);

/*
 * Begin a range, which is borrowed.  False if there is no such file: it can
 * still be read, as zeros.  Symbolic links are an error, except
 * pg_wal and those of tablespaces.
 */
extern bool file_range_begin(FileRangeReader *reader, const FileRange *range);

/* The bytes of it that are to be read. */
extern int64 file_range_left(const FileRangeReader *reader);

/*
 * The next bytes of it, which are written to where there is this room: some
 * 128 kB at most, and whole pages unless they are the last.  None are read
 * into less room than a page's, if more are left.
 */
extern size_t file_range_next(FileRangeReader *reader, char *to, size_t room);

/* What has come of it, at its end, or if there is no file. */
extern void file_range_result(const FileRangeReader *reader,
							  FileRangeResult *result);

/*
 * The SQL function is about to return: close the file.  The next call opens
 * it again, wherever in the range it is.
 */
extern void file_range_suspend(FileRangeReader *reader);

#endif							/* PARDUMP_FILE_RANGE_H */

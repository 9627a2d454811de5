/*-------------------------------------------------------------------------
 *
 * file_range.c
 *	  Reads a range of a file of the cluster, as a base backup does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufpage.h"
#include "storage/fd.h"
#include "utils/wait_event.h"

#include "file/file_range.h"
#include "shared/crc32c.h"
#include "shared/page_checksum.h"

/*
 * What is read at a time: it stays in the processor's caches while its pages
 * are checked, its CRC is computed, and it is compressed.
 */
#define STEP_BYTES (16 * BLCKSZ)

#define NOT_OPEN (-1)

struct FileRangeReader
{
	XLogRecPtr	start_lsn;
	PageFailureCallback failed;
	void	   *failed_arg;
	const FileRange *range;
	int			fd;				/* NOT_OPEN: no file, or at its end */
	int64		done;			/* bytes of the range that were handed out */
	int64		bytes;			/* that the file had */
	pg_crc32c	crc;
	PGAlignedBlock page;
};

FileRangeReader *
file_range_reader_new(XLogRecPtr start_lsn, PageFailureCallback failed,
					  void *arg)
{
	FileRangeReader *reader = palloc0(sizeof(FileRangeReader));

	reader->start_lsn = start_lsn;
	reader->failed = failed;
	reader->failed_arg = arg;
	reader->fd = NOT_OPEN;
	return reader;
}

/* Nothing but regular files: a FIFO would wait for its other end. */
static int
open_file(const char *path)
{
	int			fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | PG_BINARY);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return NOT_OPEN;
	if (fd < 0 || fstat(fd, &st) < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", path)));
	if (!S_ISREG(st.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a regular file", path)));
	return fd;
}

static bool
file_exists(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return true;
	if (errno != ENOENT)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	return false;
}

/*
 * Of what is no file, as a FIFO, nothing can be read; so a backup, which sees
 * that it is empty, does not ask for anything, and that is no error.
 */
bool
file_range_begin(FileRangeReader *reader, const FileRange *range)
{
	bool		exists;

	Assert(reader->fd == NOT_OPEN);
	reader->range = range;
	reader->done = 0;
	reader->fd = range->length > 0 ? open_file(range->path) : NOT_OPEN;
	exists = range->length > 0 ? reader->fd != NOT_OPEN : file_exists(range->path);
	reader->bytes = exists ? 0 : -1;
	INIT_CRC32C(reader->crc);
	return exists;
}

void
file_range_close(FileRangeReader *reader)
{
	if (reader->fd != NOT_OPEN)
		CloseTransientFile(reader->fd);
	reader->fd = NOT_OPEN;
}

/* Read at an offset of the range; at the file's end less than len. */
static size_t
read_at(FileRangeReader *reader, int64 offset, char *to, size_t len)
{
	size_t		got = 0;

	while (got < len)
	{
		ssize_t		part;

		pgstat_report_wait_start(WAIT_EVENT_BASEBACKUP_READ);
		part = pg_pread(reader->fd, to + got, len - got,
						(off_t) (reader->range->offset + offset + got));
		pgstat_report_wait_end();
		if (part == 0)
			break;
		if (part < 0 && errno != EINTR)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read file \"%s\": %m",
							reader->range->path)));
		if (part > 0)
			got += part;
	}
	return got;
}

/*
 * Is a page as it was written?  One that was written since the backup began
 * may be torn, which its full page image in WAL makes good; one that was
 * never written has no checksum.
 */
static bool
page_is_whole(const FileRangeReader *reader, char *page, int64 block,
			  PageFailure *failure)
{
	if (PageIsNew((Page) page) || PageGetLSN((Page) page) >= reader->start_lsn)
		return true;
	failure->block = block;
	failure->computed = page_checksum(page, (BlockNumber) block);
	failure->stored = ((PageHeader) page)->pd_checksum;
	return failure->computed == failure->stored;
}

/* The page where its numbers can be read: headers may be of any length. */
static char *
aligned_page(FileRangeReader *reader, char *page)
{
	return (uintptr_t) page % sizeof(uint32) == 0 ? page :
		memcpy(reader->page.data, page, BLCKSZ);
}

/*
 * Check the whole pages of a step, which is at data.  The server may be
 * writing one of them at this moment, so what is wrong is read once more, and
 * judged again.
 */
static void
check_pages(FileRangeReader *reader, char *data, size_t len)
{
	const FileRange *range = reader->range;
	PageFailure failure;

	for (size_t pos = 0; pos + BLCKSZ <= len; pos += BLCKSZ)
	{
		char	   *page = data + pos;
		int64		offset = reader->done + pos;
		int64		block = range->first_block + (range->offset + offset) / BLCKSZ;

		if (page_is_whole(reader, aligned_page(reader, page), block, &failure))
			continue;
		/* truncated since: zeros, as if it had been before */
		if (read_at(reader, offset, page, BLCKSZ) < BLCKSZ)
			memset(page, 0, BLCKSZ);
		else if (!page_is_whole(reader, aligned_page(reader, page), block,
								&failure))
			reader->failed(reader->failed_arg, &failure);
	}
}

int64
file_range_left(const FileRangeReader *reader)
{
	return reader->range->length - reader->done;
}

size_t
file_range_next(FileRangeReader *reader, char *to, size_t room)
{
	size_t		len = Min(STEP_BYTES, file_range_left(reader));
	size_t		got = 0;

	/* a page is checked where it is whole */
	if (len > room)
		len = room - room % BLCKSZ;
	CHECK_FOR_INTERRUPTS();
	if (reader->fd != NOT_OPEN)
	{
		got = read_at(reader, reader->done, to, len);
		if (reader->range->first_block != FILE_RANGE_NO_PAGES &&
			DataChecksumsEnabled())
			check_pages(reader, to, got);
		reader->bytes += got;
		/* nothing more is to be read of it, whatever it may become */
		if (got < len)
			file_range_close(reader);
	}
	memset(to + got, 0, len - got);
	reader->crc = crc32c_add(reader->crc, to, len);
	reader->done += len;
	return len;
}

void
file_range_result(const FileRangeReader *reader, FileRangeResult *result)
{
	result->bytes = reader->bytes;
	result->crc = reader->crc;
	FIN_CRC32C(result->crc);
}

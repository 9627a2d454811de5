/*-------------------------------------------------------------------------
 *
 * file_stream.c
 *	  Reads a piece of a base backup: ranges of files, with the tar headers
 *	  and padding around them, which may be compressed into one frame.
 *
 * function/file_function.c calls this for pg_pardump_read_files().  The
 * result is the same as that of the server's sendFile()
 * (src/backend/backup/basebackup.c), but for any range of a file.
 *
 * A piece without compression is returned row by row.  A piece to be
 * compressed is first read into one buffer: zstd takes a fifth less CPU time
 * for a buffer than for a stream (shared/compress.c).
 *
 * These resources exist between two calls of the set-returning function:
 *
 * resource			| owner
 * -----------------+--------------------------------------------------------
 * file descriptor	| the subtransaction of the call (fd.c), which closes it
 *					| if the call fails; otherwise file_range_suspend() does
 * compressor		| malloc()ed, freed by a callback of the memory context
 *					| (bytes/context_compressor.c)
 * everything else	| memory of the call's FuncCallContext
 *
 * The file is closed at the end of each call, and opened again in the next
 * one.  So only memory outlives a call, even if a subtransaction aborts, the
 * cursor is WITH HOLD, or the portal is dropped in an aborted transaction.
 * Also, 1,000 open cursors need no file descriptor.  PathNameOpenFile() would
 * not do: fd.c may close such a file when descriptors run short, and then
 * opens it again by name without a check.
 *
 * A file that is opened again must have the same device and inode.  A new
 * file may have the inode of a file that was removed before; so the client of
 * a base backup also compares the beginnings of files whose size or time has
 * changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/htup_details.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "miscadmin.h"
#include "storage/bufpage.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "bytes/context_compressor.h"
#include "read/file_stream.h"
#include "shared/crc32c.h"
#include "shared/page_checksum.h"

/* ----------
 * Reads a range of a file of the cluster, as a base backup does.
 * ----------
 */

/*
 * The bytes that are read at a time.  They stay in the processor's cache
 * while their pages are verified and their CRC is computed.
 */
#define STEP_BYTES (16 * BLCKSZ)

#define NOT_OPEN (-1)

#define TABLESPACES_DIRECTORY "pg_tblspc/"

typedef struct FileRangeReader
{
	XLogRecPtr	start_lsn;		/* pages written after this may be torn and
								 * are not verified; 0 = verify none */
	FileStreamResult *result;	/* borrowed */
	const FileRange *range;
	int			item;			/* index of the range's item */
	int			fd;				/* NOT_OPEN between calls */
	bool		at_end;			/* the file has ended; the rest is zeros */
	dev_t		device;			/* of the file that was opened first */
	ino_t		inode;
	int64		done;			/* bytes of the range returned so far */
	int64		bytes;			/* bytes read from the file */
	pg_crc32c	crc;
	PGAlignedBlock page;
} FileRangeReader;

/* ----------
 * Opening a file
 * ----------
 */

/*
 * May the first "len" bytes of a path be a symbolic link?  Only pg_wal, which
 * initdb --waldir creates as a link, and the links in pg_tblspc, which CREATE
 * TABLESPACE creates, are allowed.
 */
static bool
may_be_link(const char *path, size_t len)
{
	const size_t prefix = strlen(TABLESPACES_DIRECTORY);

	if (len == strlen(XLOGDIR) && strncmp(path, XLOGDIR, len) == 0)
		return true;
	return len > prefix &&
		strncmp(path, TABLESPACES_DIRECTORY, prefix) == 0 &&
		strspn(path + prefix, "0123456789") == len - prefix;
}

/*
 * Open a directory in the directory "parent", which is closed.  Sets errno to
 * ELOOP if it is a symbolic link that must not be followed.
 */
static int
open_directory(int parent, const char *name, bool follow)
{
	int			flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int			fd = openat(parent, name, follow ? flags : flags | O_NOFOLLOW);
	int			error = errno;
	struct stat st;

	/* the errno for a link depends on the operating system */
	if (fd < 0 && !follow &&
		fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISLNK(st.st_mode))
		error = ELOOP;
	if (parent != AT_FDCWD)
		close(parent);
	errno = error;
	return fd;
}

/*
 * Open the directory that contains the file of a path, and set *name to the
 * last component of the path.  Returns AT_FDCWD if the path has only one
 * component, or -1, with errno set, if a directory cannot be opened.  The
 * path is changed during the call.
 */
static int
open_parent(char *path, const char **name)
{
	char	   *component = path;
	char	   *slash;
	int			directory = AT_FDCWD;

	while ((slash = strchr(component, '/')) != NULL)
	{
		bool		follow = may_be_link(path, slash - path);

		*slash = '\0';
		directory = open_directory(directory, component, follow);
		if (directory < 0)
			return -1;
		*slash = '/';
		component = slash + 1;
	}
	*name = component;
	return directory;
}

/*
 * Get the status of a file.  Its path is opened component by component, so
 * that a link that replaces a directory in the meantime is not followed.
 * Returns false, with errno set, if that fails; ELOOP means a link.
 *
 * No error may be raised while a directory is open, as fd.c does not know it
 * and would not close it.  (fd.c leaves room for such descriptors:
 * NUM_RESERVED_FDS.)
 */
static bool
stat_without_links(const char *path, struct stat *st)
{
	char	   *copy = pstrdup(path);
	const char *name;
	int			directory = open_parent(copy, &name);
	bool		found = directory != -1 &&
		fstatat(directory, name, st, AT_SYMLINK_NOFOLLOW) == 0;
	bool		is_link = found && S_ISLNK(st->st_mode);
	int			error = errno;

	if (directory >= 0)
		close(directory);
	pfree(copy);
	errno = is_link ? ELOOP : error;
	return found && !is_link;
}

/* Raise an error with the message of errno. */
static void
could_not_open(const char *path)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not open file \"%s\": %m", path)));
}

/*
 * Get the status of a file, or return false if it does not exist.  A link in
 * its path is an error.
 */
static bool
find_file(const char *path, struct stat *st)
{
	if (stat_without_links(path, st))
		return true;
	if (errno == ELOOP)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("symbolic link in path \"%s\" not allowed", path),
				 errdetail("Only pg_wal and the links in pg_tblspc are followed.")));
	if (errno != ENOENT)
		could_not_open(path);
	return false;
}

/*
 * Close the file before the SQL function returns.  The next call opens it
 * again if the range is not complete.
 */
static void
file_range_suspend(FileRangeReader *reader)
{
	if (reader->fd != NOT_OPEN)
		CloseTransientFile(reader->fd);
	reader->fd = NOT_OPEN;
}

static bool
same_file(const FileRangeReader *reader, const struct stat *st)
{
	return st->st_dev == reader->device && st->st_ino == reader->inode;
}

/* The SQLSTATE of this error tells the client to request the range again. */
static void
replaced_meanwhile(const char *path)
{
	ereport(ERROR,
			(errcode(FILE_RANGE_REPLACED),
			 errmsg("file \"%s\" was replaced or removed while it was read",
					path)));
}

/*
 * Open the file whose device and inode were found before, for this call.
 * Returns false if its path leads to another file, or to none, now: fd.c can
 * only open a file by its name, so the opened file is compared.
 */
static bool
open_found(FileRangeReader *reader)
{
	const char *path = reader->range->path;
	struct stat st;

	/*
	 * O_NOFOLLOW only applies to the last component, so the comparison is
	 * still needed.  With O_NONBLOCK, open() does not wait if a FIFO has
	 * replaced the file.
	 */
	reader->fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW |
								   PG_BINARY);
	if (reader->fd < 0 && (errno == ENOENT || errno == ELOOP))
		return false;
	if (reader->fd < 0 || fstat(reader->fd, &st) < 0)
		could_not_open(path);
	if (same_file(reader, &st))
		return true;
	file_range_suspend(reader);
	return false;
}

/*
 * Open the file for the first time.  Returns false if it does not exist.  It
 * must be a regular file: to read a FIFO would mean to wait.
 */
static bool
open_first(FileRangeReader *reader)
{
	const char *path = reader->range->path;
	struct stat st;

	if (!find_file(path, &st))
		return false;
	if (!S_ISREG(st.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a regular file", path)));
	reader->device = st.st_dev;
	reader->inode = st.st_ino;
	if (!open_found(reader))
		replaced_meanwhile(path);
	return true;
}

/*
 * Open the file again in a later call.  If a file of pages was removed or
 * replaced, it ends here, as if it had been truncated: replay gets everything
 * that it needs from WAL.  For other files this is an error.
 */
static void
open_again(FileRangeReader *reader)
{
	struct stat st;

	if (stat_without_links(reader->range->path, &st))
	{
		if (same_file(reader, &st) && open_found(reader))
			return;
	}
	else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		could_not_open(reader->range->path);
	if (reader->range->first_block == FILE_RANGE_NO_PAGES)
		replaced_meanwhile(reader->range->path);
	reader->at_end = true;
}

/* ----------
 * Reading
 * ----------
 */

/*
 * Begin a range, which is borrowed.  Returns false if the file does not
 * exist; the range can still be read as zeros.  Symbolic links are an error,
 * except pg_wal and those of tablespaces.
 *
 * A FIFO or another special file cannot be read.  Its size is 0, so a backup
 * requests a range of length 0, which is not an error.
 */
static bool
file_range_begin(FileRangeReader *reader, const FileRange *range, int item)
{
	struct stat st;
	bool		exists;

	Assert(reader->fd == NOT_OPEN);
	reader->range = range;
	reader->item = item;
	reader->done = 0;
	exists = range->length > 0 ? open_first(reader) :
		find_file(range->path, &st);
	reader->at_end = !exists;
	reader->bytes = exists ? 0 : -1;
	INIT_CRC32C(reader->crc);
	return exists;
}

/* Read at an offset of the range.  Reads fewer bytes at the file's end. */
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
 * Is the checksum of a page right?  Pages that were written after the start
 * of the backup are not tested: they may be torn, and are replaced by their
 * full page image in WAL.  New pages have no checksum.
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

/*
 * Return the page, or a copy of it, at an aligned address.  In the result of
 * a stream, a page may be unaligned, as headers may have any length.
 */
static char *
aligned_page(FileRangeReader *reader, char *page)
{
	return (uintptr_t) page % sizeof(uint32) == 0 ? page :
		memcpy(reader->page.data, page, BLCKSZ);
}

/* Store a page with a wrong checksum in the result. */
static void
note_failure(FileStreamResult *result, const PageFailure *failure)
{
	if (result->n_failures == result->max_failures)
	{
		result->max_failures *= 2;
		result->failures = repalloc(result->failures,
									result->max_failures * sizeof(PageFailure));
	}
	result->failures[result->n_failures++] = *failure;
}

/*
 * Verify the complete pages in data.  The server may be writing one of them
 * at this moment, so a page with a wrong checksum is read and tested again.
 */
static void
check_pages(FileRangeReader *reader, char *data, size_t len)
{
	const FileRange *range = reader->range;
	PageFailure failure = {.item = reader->item};

	for (size_t pos = 0; pos + BLCKSZ <= len; pos += BLCKSZ)
	{
		char	   *page = data + pos;
		int64		offset = reader->done + pos;
		int64		block = range->first_block + (range->offset + offset) / BLCKSZ;

		if (page_is_whole(reader, aligned_page(reader, page), block, &failure))
			continue;
		/* if the file was truncated since, the page is replaced by zeros */
		if (read_at(reader, offset, page, BLCKSZ) < BLCKSZ)
			memset(page, 0, BLCKSZ);
		else if (!page_is_whole(reader, aligned_page(reader, page), block,
								&failure))
			note_failure(reader->result, &failure);
	}
}

/* Return the number of bytes of the range that are left. */
static int64
file_range_left(const FileRangeReader *reader)
{
	return reader->range->length - reader->done;
}

/*
 * Read the next bytes of the range into "to", which has this room, and return
 * their number: at most STEP_BYTES, and whole pages except at the end of the
 * range.  If more than a page is left, nothing is read into less room than
 * that of a page.
 */
static size_t
file_range_next(FileRangeReader *reader, char *to, size_t room)
{
	size_t		len = Min(STEP_BYTES, file_range_left(reader));
	size_t		got = 0;

	/* only whole pages can be verified */
	if (len > room)
		len = room - room % BLCKSZ;
	CHECK_FOR_INTERRUPTS();
	if (reader->fd == NOT_OPEN && !reader->at_end)
		open_again(reader);
	if (!reader->at_end)
	{
		got = read_at(reader, reader->done, to, len);
		if (reader->range->first_block != FILE_RANGE_NO_PAGES &&
			DataChecksumsEnabled())
			check_pages(reader, to, got);
		reader->bytes += got;
		/* after its end, the file is not read again even if it grows */
		reader->at_end = got < len;
	}
	/* like sendFile(), fill up a file that became shorter with zeros */
	memset(to + got, 0, len - got);
	reader->crc = crc32c_add(reader->crc, to, len);
	reader->done += len;
	return len;
}

/* Store the result of a range that has ended, or has no file. */
static void
file_range_result(const FileRangeReader *reader)
{
	FileRangeResult *result = &reader->result->ranges[reader->item];

	result->bytes = reader->bytes;
	result->crc = reader->crc;
	FIN_CRC32C(result->crc);
}

/* ----------
 * Reads a piece of a base backup: ranges of files, with tar headers and
 * padding.
 * ----------
 */

/* The size of a row, which may be a little less. */
#define ROW_BYTES (128 * 1024)

/* The part of an item that comes next. */
typedef enum StreamState
{
	STREAM_BEGIN,
	STREAM_HEADER,
	STREAM_RANGE,
	STREAM_PADDING
} StreamState;

struct FileStream
{
	const FileStreamItem *items;
	int			n_items;
	int			item;
	StreamState state;
	FileRangeReader reader;
	FileStreamResult result;
	size_t		n_done;			/* bytes written of header or padding */
	bytea	   *row;
	BlockCompressor *compressor;	/* NULL for none */
	size_t		piece_bytes;	/* largest length of a piece to compress */
	char	   *frame;			/* the compressed piece, or NULL */
	size_t		frame_len;
	size_t		frame_pos;		/* returned up to here */
};

/*
 * Compute the largest length that the piece can have, and raise an error if
 * it is too long to be compressed.
 */
static size_t
piece_bytes(const FileStreamItem *items, int n_items)
{
	const size_t limit = FILE_STREAM_COMPRESSED_BYTES;
	size_t		bytes = 0;

	/* lengths are from the client, and their sum must not overflow */
	for (int i = 0; i < n_items && bytes <= limit; i++)
		bytes += items[i].header_len + Min(items[i].range.length, limit + 1) +
			items[i].padding;
	if (bytes > limit)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("more than %zu bytes cannot be compressed into one frame",
						limit)));
	return bytes;
}

/* The array has one element more than needed, as there may be no items. */
FileStream *
file_stream_new(const FileStreamItem *items, int n_items,
				XLogRecPtr start_lsn, const CompressSpec *compress)
{
	FileStream *stream = palloc0(sizeof(FileStream));

	stream->items = items;
	stream->n_items = n_items;
	stream->reader.start_lsn = start_lsn;
	stream->reader.result = &stream->result;
	stream->reader.fd = NOT_OPEN;
	stream->result.ranges = palloc0((n_items + 1) * sizeof(FileRangeResult));
	stream->result.max_failures = 8;
	stream->result.failures = palloc(stream->result.max_failures *
									 sizeof(PageFailure));
	if (compress->method != COMPRESS_NONE)
	{
		stream->piece_bytes = piece_bytes(items, n_items);
		stream->compressor = context_compressor_new(compress, true);
	}
	stream->row = palloc(VARHDRSZ + ROW_BYTES);
	return stream;
}

/* Begin an item.  Returns false if it is left out, as it has no file. */
static bool
begin_item(FileStream *stream, const FileStreamItem *item)
{
	if (item->range.path == NULL ||
		file_range_begin(&stream->reader, &item->range, stream->item) ||
		item->required)
		return true;
	file_range_result(&stream->reader);
	return false;
}

/*
 * Write as much of the item's header or padding as there is room for.  It has
 * "len" bytes; data is NULL for padding.  Returns true if all of it has been
 * written.
 */
static bool
fill_around(FileStream *stream, const char *data, size_t len, char *to,
			size_t room, size_t *written)
{
	size_t		part = Min(len - stream->n_done, room);

	if (data)
		memcpy(to, data + stream->n_done, part);
	else
		memset(to, 0, part);
	stream->n_done += part;
	*written = part;
	if (stream->n_done < len)
		return false;
	stream->n_done = 0;
	return true;
}

/* The same for the next part of the item, of any kind. */
static bool
fill_part(FileStream *stream, const FileStreamItem *item, char *to,
		  size_t room, size_t *written)
{
	switch (stream->state)
	{
		case STREAM_BEGIN:
			break;
		case STREAM_HEADER:
			return fill_around(stream, item->header, item->header_len, to,
							   room, written);
		case STREAM_RANGE:
			if (item->range.path == NULL)
				return true;
			if (file_range_left(&stream->reader) > 0)
				*written = file_range_next(&stream->reader, to, room);
			if (file_range_left(&stream->reader) > 0)
				return false;
			file_range_result(&stream->reader);
			file_range_suspend(&stream->reader);
			return true;
		case STREAM_PADDING:
			return fill_around(stream, NULL, item->padding, to, room,
							   written);
	}
	return true;
}

/*
 * Write the next bytes of the piece into "to" and return their number, which
 * is 0 at the end of the piece.  Room for less than a page may be left over.
 */
static size_t
fill(FileStream *stream, char *to, size_t room)
{
	size_t		len = 0;

	while (stream->item < stream->n_items)
	{
		const FileStreamItem *item = &stream->items[stream->item];
		size_t		written = 0;

		/*
		 * If a part writes nothing but is not complete, it has too little
		 * room: only whole pages are read.
		 */

		if (stream->state == STREAM_BEGIN && !begin_item(stream, item))
			stream->item++;
		else if (!fill_part(stream, item, to + len, room - len, &written))
		{
			if (written == 0)
				break;
		}
		else if (stream->state++ == STREAM_PADDING)
		{
			stream->state = STREAM_BEGIN;
			stream->item++;
		}
		len += written;
	}
	return len;
}

/* Read all of the piece and compress it into one frame. */
static void
make_frame(FileStream *stream)
{
	char	   *piece = palloc(stream->piece_bytes + 1);
	size_t		len = fill(stream, piece, stream->piece_bytes);

	stream->frame = palloc(block_compressor_bound(stream->compressor, len));
	stream->frame_len = context_compressor_whole(stream->compressor, piece,
												 len, stream->frame);
	pfree(piece);
}

/* Copy the next part of the frame to the row, and return its length. */
static size_t
fill_compressed(FileStream *stream)
{
	size_t		len;

	if (stream->frame == NULL)
		make_frame(stream);
	len = Min(stream->frame_len - stream->frame_pos, ROW_BYTES);
	memcpy(VARDATA(stream->row), stream->frame + stream->frame_pos, len);
	stream->frame_pos += len;
	return len;
}

bytea *
file_stream_next(FileStream *stream)
{
	size_t		len = stream->compressor ? fill_compressed(stream) :
		fill(stream, VARDATA(stream->row), ROW_BYTES);

	file_range_suspend(&stream->reader);
	SET_VARSIZE(stream->row, VARHDRSZ + len);
	return len > 0 ? stream->row : NULL;
}

const FileStreamResult *
file_stream_result(const FileStream *stream)
{
	return &stream->result;
}

/*-------------------------------------------------------------------------
 *
 * file_range.c
 *	  Reads a range of a file of the cluster, as a base backup does.
 *
 * A range takes many calls of a set-returning function, between which a
 * subtransaction may end.  The descriptor is therefore closed at the end of
 * each call and opened again in the next one:
 *
 * resource held	| owner
 * -----------------+--------------------------------------------------------
 * file descriptor	| the subtransaction of the call (fd.c), which closes it
 *					| if the call fails; otherwise file_range_suspend() does
 * the rest			| memory of the call's FuncCallContext
 *
 * So nothing outlives a call but memory, whether a subtransaction aborts, the
 * cursor is WITH HOLD, or the portal is dropped in an aborted transaction;
 * and 1,000 open cursors have no file open.  Not PathNameOpenFile(): fd.c
 * opens such a file again by name when descriptors run short.
 *
 * The file that is opened again must be the same one: the same device and the
 * same inode.  A new file may have the inode of one that was removed before;
 * the client of a base backup therefore compares the beginnings of files
 * whose size or time has changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
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

#define TABLESPACES_DIRECTORY "pg_tblspc/"

struct FileRangeReader
{
	XLogRecPtr	start_lsn;
	PageFailureCallback failed;
	void	   *failed_arg;
	const FileRange *range;
	int			fd;				/* NOT_OPEN between calls */
	bool		at_end;			/* of the file: the rest is zeros */
	dev_t		device;			/* of the file that was opened first */
	ino_t		inode;
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

/* ----------
 * Opening a file
 * ----------
 */

/*
 * May the first "len" bytes of a path be a symbolic link?  initdb makes
 * pg_wal one if it is told to, and CREATE TABLESPACE those in pg_tblspc.
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
 * Open a directory in another one, which is closed.  Sets errno to ELOOP if
 * it is a symbolic link that must not be followed.
 */
static int
open_directory(int parent, const char *name, bool follow)
{
	int			flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int			fd = openat(parent, name, follow ? flags : flags | O_NOFOLLOW);
	int			error = errno;
	struct stat st;

	/* the error for a link depends on the operating system */
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
 * Open the directory that a path leads to, and cut the path into components,
 * the last of which is *name.  AT_FDCWD if the path has one component, -1,
 * with errno set, if a directory cannot be opened.
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
 * Look at the file that a path names, component by component, so that no
 * directory can be replaced by a link meanwhile.  False, with errno set, if
 * that fails; ELOOP means a link.  No error may be raised while a directory
 * is open: fd.c does not know of it (but has left room, NUM_RESERVED_FDS).
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

/* The same; false if there is no such file, and an error if it is a link. */
static bool
find_file(const char *path, struct stat *st)
{
	if (stat_without_links(path, st))
		return true;
	if (errno == ENOENT)
		return false;
	if (errno == ELOOP)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("symbolic link in path \"%s\" not allowed", path),
				 errdetail("Only pg_wal and the links in pg_tblspc are followed.")));
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not open file \"%s\": %m", path)));
}

static bool
same_file(const FileRangeReader *reader, const struct stat *st)
{
	return st->st_dev == reader->device && st->st_ino == reader->inode;
}

/* The SQLSTATE tells the client that it can ask for the range again. */
static void
replaced_meanwhile(const char *path)
{
	ereport(ERROR,
			(errcode(FILE_RANGE_REPLACED),
			 errmsg("file \"%s\" was replaced or removed while it was read",
					path)));
}

/*
 * Open the file that was found, for this call.  False if it is not there any
 * more: fd.c opens by name only, so what it has opened is compared.
 */
static bool
open_found(FileRangeReader *reader)
{
	const char *path = reader->range->path;
	struct stat st;

	reader->fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW |
								   PG_BINARY);
	if (reader->fd < 0 && (errno == ENOENT || errno == ELOOP))
		return false;
	if (reader->fd < 0 || fstat(reader->fd, &st) < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", path)));
	if (same_file(reader, &st))
		return true;
	file_range_suspend(reader);
	return false;
}

/* False if there is no such file.  Only regular files: a FIFO would wait. */
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
 * Open the file again for the next call.  A file of pages that is gone, or
 * another one by now, ends here, as if it had been truncated: WAL has what
 * replay needs of it.
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
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m",
						reader->range->path)));
	if (reader->range->first_block == FILE_RANGE_NO_PAGES)
		replaced_meanwhile(reader->range->path);
	reader->at_end = true;
}

void
file_range_suspend(FileRangeReader *reader)
{
	if (reader->fd != NOT_OPEN)
		CloseTransientFile(reader->fd);
	reader->fd = NOT_OPEN;
}

/* ----------
 * Reading
 * ----------
 */

/*
 * A FIFO or another special file cannot be read.  A backup, which sees that
 * it is empty, does not ask for any of it, so this is not an error.
 */
bool
file_range_begin(FileRangeReader *reader, const FileRange *range)
{
	struct stat st;
	bool		exists;

	Assert(reader->fd == NOT_OPEN);
	reader->range = range;
	reader->done = 0;
	exists = range->length > 0 ? open_first(reader) :
		find_file(range->path, &st);
	reader->at_end = !exists;
	reader->bytes = exists ? 0 : -1;
	INIT_CRC32C(reader->crc);
	return exists;
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
	if (reader->fd == NOT_OPEN && !reader->at_end)
		open_again(reader);
	if (!reader->at_end)
	{
		got = read_at(reader, reader->done, to, len);
		if (reader->range->first_block != FILE_RANGE_NO_PAGES &&
			DataChecksumsEnabled())
			check_pages(reader, to, got);
		reader->bytes += got;
		/* read nothing more of it, even if it becomes longer */
		reader->at_end = got < len;
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

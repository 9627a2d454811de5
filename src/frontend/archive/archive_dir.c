/*
 * archive_dir.c
 *		Creates the directory of an archive and its files, and publishes the
 *		archive.
 *
 * Another user may be able to rename parent directories, or to replace them
 * with symbolic links.  So the program removes files through the open
 * directory, and not by their path.
 */
#include "base/fe_compat.h"

#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>

#include "common/file_utils.h"

#include "archive/archive_clean.h"
#include "archive/archive_dir.h"
#include "archive/archive_name.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "stream/regular_file.h"

/* ----------
 * Writing one file of an archive, and setting its result.
 *
 * A file has a chain of sinks: count raw bytes, compress, count stored bytes
 * and compute their checksum, write.  A file whose data is already compressed
 * begins without the first two.
 * ----------
 */

struct ArchiveFile
{
	Sink	   *sink;			/* the first of the chain */
	CompressSpec compress;
	pg_checksum_context checksum;	/* of the stored bytes */
	FileResult *result;
	WorkerProgress *progress;
	uint64		raw_elsewhere;	/* already compressed when received */
	int64		start_us;
	const FileResults *results; /* for the numbers of worker and server */
};

ArchiveFile *
archive_file_begin_compressed(FileResults *results, FileResult *result,
							  Sink *sink, const CompressSpec *compress)
{
	ArchiveFile *file = pg_malloc0(sizeof(ArchiveFile));

	file->start_us = clock_wall_us();
	file->result = result;
	result->done = false;
	file->results = results;
	file->progress = file_results_progress(results);
	checksum_begin(&file->checksum, results->checksum_type);
	file->sink = sink_tap_new(sink, &file->progress->stored_bytes,
							  &file->checksum);
	if (compress)
		file->compress = *compress;
	return file;
}

static void
prepend_compression(ArchiveFile *file)
{
	if (file->compress.method != COMPRESS_NONE)
		file->sink = sink_compress_new(file->sink, &file->compress);
	file->sink = sink_tap_new(file->sink, &file->progress->raw_bytes, NULL);
}

ArchiveFile *
archive_file_begin(FileResults *results, FileResult *result, Sink *sink,
				   const CompressSpec *compress)
{
	ArchiveFile *file = archive_file_begin_compressed(results, result, sink,
													  compress);

	prepend_compression(file);
	return file;
}

void
archive_file_compress_rest(ArchiveFile *file, uint64 raw_bytes)
{
	file->raw_elsewhere = raw_bytes;
	prepend_compression(file);
}

Sink *
archive_file_sink(ArchiveFile *file)
{
	return file->sink;
}

void
archive_file_complete(ArchiveFile *file, uint64 rows)
{
	FileResult *result = file->result;

	sink_finish(file->sink);
	result->checksum_len = checksum_end(&file->checksum, result->checksum);
	file_result_set(file->results, result, file->start_us, rows,
					file->raw_elsewhere + file->sink->bytes_in,
					sink_stored_bytes(file->sink));
	file->progress->rows = 0;
	file->progress->raw_bytes = 0;
	file->progress->stored_bytes = 0;

	/*
	 * The leader reads results without a lock.  If "done" is set, it relies
	 * on all other members, so the barrier makes sure that they are stored
	 * before it.
	 */
	__sync_synchronize();
	result->done = true;
	sink_free(file->sink);
	free(file);
}

/* ----------
 * Free space and permissions for an archive.
 * ----------
 */

/*
 * The expected ratio of compression.  The rows of most tables compress
 * better.
 */
#define LIKELY_RATIO 4

/*
 * Returns the space that the files in the directory occupy.  Files with
 * several hard links are not counted, because removing one link frees
 * nothing.
 */
static uint64
bytes_in(const char *directory)
{
	DIR		   *dir = opendir(directory);
	struct dirent *entry;
	struct stat st;
	uint64		bytes = 0;

	if (dir == NULL)
		return 0;
	while ((entry = readdir(dir)) != NULL)
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode) && st.st_nlink == 1)
			bytes += (uint64) st.st_blocks * 512;
	closedir(dir);
	return bytes;
}

/*
 * Will files of the previous archive be copied?  Links and clones work only
 * within a file system.  If that cannot be determined, assume a copy: an
 * unnecessary warning does less harm than a full disk.
 */
static bool
copies_previous(const ArchiveNeed *need, const char *path)
{
	struct stat previous;
	struct stat here;

	return need->copies || stat(need->previous, &previous) < 0 ||
		stat(path, &here) < 0 || previous.st_dev != here.st_dev;
}

uint64
archive_space_expect(const ArchiveNeed *need)
{
	return need->compressed ? need->raw_bytes / LIKELY_RATIO : need->raw_bytes;
}

/*
 * Returns the directory, or its parent if the directory does not exist; the
 * caller owns it.
 */
static char *
existing_path(const char *directory)
{
	char	   *path = pg_strdup(directory);

	if (access(path, F_OK) != 0)
		get_parent_directory(path);
	return *path != '\0' ? path : pg_strdup(".");
}

/* Returns false if the free space is unknown. */
static bool
available_bytes(const char *path, const char *directory,
				const ArchiveNeed *need, uint64 *available)
{
	struct statvfs st;

	if (statvfs(path, &st) != 0)
		return false;
	*available = (uint64) st.f_bavail * st.f_frsize +
		(need->clean ? bytes_in(directory) : 0);
	return true;
}

bool
archive_space_available(const char *directory, const ArchiveNeed *need,
						uint64 *available)
{
	return available_bytes(existing_path(directory), directory, need, available);
}

static void
warn_if_full(const char *path, const char *directory, const ArchiveNeed *need)
{
	uint64		needed = archive_space_expect(need);
	uint64		copied = need->previous && copies_previous(need, path) ?
		need->previous_bytes : 0;
	uint64		available;

	if (!available_bytes(path, directory, need, &available) ||
		available >= needed + copied)
		return;
	pg_log_warning("the file system of directory \"%s\" has %s free, but about %s of data will be read",
				   path, units_size(available),
				   units_size(need->raw_bytes));
	pg_log_warning_detail(need->compressed ?
						  "Compressed rows usually take a third to a tenth of this size." :
						  "The data will not be compressed.");
	if (copied > 0)
		pg_log_warning_detail("Files of the previous archive that might have to be copied take %s more.",
							  units_size(copied));
}

void
archive_space_check(const char *directory, const ArchiveNeed *need)
{
	char	   *path = existing_path(directory);

	if (access(path, W_OK | X_OK) != 0)
		pg_log_error("could not write to directory \"%s\": %m", path);
	else
		warn_if_full(path, directory, need);
}

/* ----------
 * Creating the directory and its files.
 * ----------
 */

struct ArchiveDir
{
	char	   *path;			/* NULL with commands */
	char	   *suffix;			/* of the files of an attempt, or NULL */
	bool		flushes;		/* flush files when they are complete */
	bool		made;			/* created by us, not found empty */
	bool		whole;			/* published: its files stay */
	char	   *temp_path;		/* toc.dat.tmp, which claims the directory */
	Sink	   *toc;			/* writes that file, until taken */
	DIR		   *listing;		/* kept open: later, all descriptors may be in
								 * use */

	/* for --pipe, in place of a directory */
	const char *command;		/* pattern of the commands */
	int			command_err_fd; /* for their messages: a command may outlive
								 * its worker, and would hold open the pipe
								 * that the worker has as standard error */
	PQExpBufferData toc_text;	/* toc.dat, kept until the end */
};

/* Returns the path of a file in the directory; the caller owns it. */
static char *
file_path(const ArchiveDir *dir, const char *name)
{
	/*
	 * An attempt of a task may still write after it was given up, so each
	 * attempt has file names of its own.
	 */
	if (dir->suffix)
		return psprintf("%s/%s.%s", dir->path, name, dir->suffix);
	return psprintf("%s/%s", dir->path, name);
}

/*
 * Remove a file from the open directory, even if the path leads to another
 * directory by now.
 */
static void
remove_file(const ArchiveDir *dir, const char *name)
{
	if (unlinkat(dirfd(dir->listing), name, 0) < 0 && errno != ENOENT)
		pg_log_warning("could not remove file \"%s/%s\": %m", dir->path, name);
}

/*
 * An exit callback that removes all files of an unfinished archive.  toc.dat
 * is removed first, if it exists already, because the other files are not an
 * archive without it.
 */
static void
archive_dir_remove_files(void *arg)
{
	ArchiveDir *dir = arg;
	struct dirent *entry;

	if (dir->whole)
		return;
	remove_file(dir, TOC_NAME);
	rewinddir(dir->listing);
	while ((entry = readdir(dir->listing)) != NULL)
		if (archive_name_is_part(entry->d_name))
			remove_file(dir, entry->d_name);
	if (dir->made && rmdir(dir->path) < 0)
		pg_log_warning("could not remove directory \"%s\": %m", dir->path);
}

bool
archive_dir_check(const char *path, bool of_all)
{
	switch (pg_check_dir(path))
	{
		case 0:
			return false;
		case 1:
			return true;
		case -1:
			pg_fatal("could not read directory \"%s\": %m", path);
		default:
			pg_log_error("directory \"%s\" exists but is not empty", path);
			/* --clean-output cannot be used with --all-databases. */
			pg_fatal_hint(of_all || message_database() ?
						  "Specify another directory.  Remove this one only if its contents are not needed." :
						  "Specify another directory, or use --clean-output to remove an earlier archive from this one.");
	}
}

void
archive_dir_keep_out(const char *directory, const char *option, const char *path)
{
	char	   *parent = pg_strdup(path);
	struct stat st;
	struct stat dir_st;

	get_parent_directory(parent);
	if (directory && stat(*parent ? parent : ".", &st) == 0 &&
		stat(directory, &dir_st) == 0 &&
		st.st_dev == dir_st.st_dev && st.st_ino == dir_st.st_ino)
	{
		pg_log_error("file \"%s\" of option %s must not be in the archive's directory",
					 path, option);
		pg_fatal_hint("Specify a file outside the archive's directory, which may contain only the archive's own files.");
	}
}

/* ----------
 * Opening the directory, and making sure that it is the right one.
 * ----------
 */
pg_noreturn static void
was_replaced(const char *path, const char *found)
{
	pg_log_error("directory \"%s\" was replaced or filled by another process",
				 path);
	pg_log_error_detail("%s", found);
	pg_fatal_hint(DIRECTORY_REPLACED_HINT);
}

static bool
is_empty(DIR *listing)
{
	bool		result = directory_next(listing) == NULL && errno == 0;

	rewinddir(listing);
	return result;
}

DIR *
archive_dir_open_empty(const char *path, bool made)
{
	int			fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
						  (made ? O_NOFOLLOW : 0));
	DIR		   *listing = fd < 0 ? NULL : fdopendir(fd);
	struct stat st;

	if (made && fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		was_replaced(path, "It is now a symbolic link or a file.");
	if (listing == NULL || fstat(fd, &st) < 0)
		pg_fatal("could not open directory \"%s\": %m", path);

	/*
	 * A directory that this program has created is empty and belongs to its
	 * user.  Any other one was put there in the moment since mkdir().
	 */
	if (made && st.st_uid != geteuid())
		was_replaced(path, psprintf("It is now owned by user ID %u.", st.st_uid));
	if (made && !is_empty(listing))
		was_replaced(path, DIRECTORY_HAS_FILES);
	if (!is_empty(listing))
	{
		pg_log_error("directory \"%s\" is no longer empty", path);
		pg_fatal_hint("Specify another directory.");
	}
	return listing;
}

DIR *
archive_dir_open_new(const char *path, bool of_all, bool *made)
{
	*made = !archive_dir_check(path, of_all);
	/* As in pg_dump, the parent must exist. */
	if (*made && mkdir(path, 0700) < 0)
		pg_fatal("could not create directory \"%s\": %m", path);
	return archive_dir_open_empty(path, *made);
}

/*
 * Open a directory whose files will be removed.  A symbolic link is followed
 * unless it belongs to another user, who could make it lead to another
 * archive.
 */
static DIR *
open_left(const char *path)
{
	struct stat st;
	int			fd;
	DIR		   *listing;

	if (lstat(path, &st) < 0)
		pg_fatal("could not stat file \"%s\": %m", path);
	if (S_ISLNK(st.st_mode) && st.st_uid != 0 && st.st_uid != geteuid())
	{
		pg_log_error("symbolic link \"%s\" is owned by another user", path);
		pg_log_error_detail("--clean-output does not follow such a link, because its owner could make it lead to another directory.");
		pg_fatal_hint("Specify the directory itself.");
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
			  (S_ISLNK(st.st_mode) ? 0 : O_NOFOLLOW));
	listing = fd < 0 ? NULL : fdopendir(fd);
	if (listing == NULL)
		pg_fatal("could not open directory \"%s\": %m", path);
	return listing;
}

/*
 * Lock the directory until this process and its workers have ended, so that
 * no other run removes its files.
 */
static void
lock_directory(ArchiveDir *dir, bool must)
{
	/*
	 * Workers inherit the open directory, and with it the lock.  So the lock
	 * is held until the last worker has ended, even if the leader is killed.
	 */
	if (flock(dirfd(dir->listing), LOCK_EX | LOCK_NB) == 0)
		return;
	if (errno == EWOULDBLOCK)
	{
		pg_log_error("directory \"%s\" is in use by another run", dir->path);
		pg_fatal_hint("Wait until the other run has ended, or specify another directory.");
	}
	/* The file system does not support locks. */
	if (must)
	{
		pg_log_error("could not lock directory \"%s\": %m", dir->path);
		pg_log_error_detail("--clean-output requires a file system that supports flock().");
		pg_fatal_hint("Remove the files of the earlier archive, and run the command without --clean-output.");
	}
	pg_log_info("could not lock directory \"%s\": %m", dir->path);
}

/*
 * Create toc.dat.tmp, which makes the directory ours.  Two runs may have
 * found the directory missing or empty, but only one can create the file.
 * The other fails here, before it would remove the files of the first.
 */
static void
claim_directory(ArchiveDir *dir)
{
	dir->temp_path = file_path(dir, TOC_TEMP_NAME);
	dir->toc = sink_file_new(dir->temp_path);

	/*
	 * The file was created by its path.  If the open directory does not
	 * contain it, another user has replaced the directory at that path.
	 */
	if (faccessat(dirfd(dir->listing), TOC_TEMP_NAME, F_OK, 0) < 0)
		was_replaced(dir->path, DIRECTORY_IS_ANOTHER);

	/*
	 * Only from now on, the files in the directory are certainly those of
	 * this run.
	 */
	cleanup_push(archive_dir_remove_files, dir);
}

ArchiveDir *
archive_dir_create(const char *path, bool clean, bool flushes)
{
	ArchiveDir *dir = pg_malloc0(sizeof(ArchiveDir));

	dir->flushes = flushes;
	dir->path = pg_strdup(path);
	canonicalize_path(dir->path);
	if (clean && pg_check_dir(dir->path) > 1)
	{
		dir->listing = open_left(dir->path);
		lock_directory(dir, true);
		archive_clean(dir->path, dir->listing, true);
		return dir;
	}
	dir->listing = archive_dir_open_new(dir->path, false, &dir->made);
	lock_directory(dir, false);
	claim_directory(dir);
	return dir;
}

void
archive_dir_clean(ArchiveDir *dir)
{
	if (dir->toc)
		return;
	archive_clean(dir->path, dir->listing, false);
	claim_directory(dir);
}

ArchiveDir *
archive_dir_create_piped(const char *pattern)
{
	ArchiveDir *dir = pg_malloc0(sizeof(ArchiveDir));

	dir->command = pattern;

	/*
	 * This is the leader's standard error.  Workers have pipes in its place,
	 * which a command would hold open.
	 */
	dir->command_err_fd = dup(STDERR_FILENO);
	if (dir->command_err_fd < 0 ||
		fcntl(dir->command_err_fd, F_SETFD, FD_CLOEXEC) < 0)
		pg_fatal("could not duplicate standard error: %m");
	initPQExpBuffer(&dir->toc_text);
	dir->toc = sink_buffer_new(&dir->toc_text);
	return dir;
}

ArchiveDir *
archive_dir_of_attempt(const char *path, const char *suffix, bool flushes)
{
	ArchiveDir *dir = pg_malloc0(sizeof(ArchiveDir));

	dir->path = pg_strdup(path);
	dir->suffix = pg_strdup(suffix);
	dir->flushes = flushes;
	return dir;
}

void
archive_dir_flush_file(const ArchiveDir *dir, const char *name)
{
	char	   *path;

	if (!dir->flushes)
		return;
	path = file_path(dir, name);
	if (fsync_fname(path, false) != 0)
		exit(1);
	free(path);
}

void
archive_dir_take_file(const ArchiveDir *dir, const char *path,
					  const char *name)
{
	char	   *final = file_path(dir, name);

	if (rename(path, final) < 0)
		pg_fatal("could not rename file \"%s\" to \"%s\": %m", path, final);
	free(final);
}

Sink *
archive_dir_new_file(const ArchiveDir *dir, const char *name)
{
	char	   *path;
	Sink	   *sink;

	if (dir->command)
		return sink_pipe_new(dir->command, name, dir->command_err_fd);
	path = file_path(dir, name);
	sink = dir->flushes ? sink_file_new_flushing(path) : sink_file_new(path);
	free(path);
	return sink;
}

/*
 * Link a file by its name.  If the name belongs to another file by now, the
 * link is removed again.
 */
static bool
link_by_name(int fd, int from_dir, const char *from_name, const char *path)
{
	struct stat st;
	struct stat linked;

	if (linkat(from_dir, from_name, AT_FDCWD, path, 0) < 0)
		return false;
	if (fstat(fd, &st) == 0 && lstat(path, &linked) == 0 &&
		st.st_dev == linked.st_dev && st.st_ino == linked.st_ino)
		return true;
	if (unlink(path) < 0)
		pg_fatal("could not remove file \"%s\": %m", path);
	return false;
}

bool
archive_dir_link_file(const ArchiveDir *dir, int fd, int from_dir,
					  const char *from_name, const char *name)
{
	char	   *path = file_path(dir, name);
	char	   *open_file = psprintf("/proc/self/fd/%d", fd);
	bool		done;

	/*
	 * Link the open file, whose contents were checked: its name may belong to
	 * another file by now.  Without /proc, use the name.
	 */
	done = linkat(AT_FDCWD, open_file, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ||
		(access(open_file, F_OK) < 0 &&
		 link_by_name(fd, from_dir, from_name, path));
	free(open_file);
	free(path);
	return done;
}

int
archive_dir_clone_file(const ArchiveDir *dir, int fd, const char *name)
{
	char	   *path = file_path(dir, name);
	int			new_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (new_fd < 0)
		pg_fatal("could not create file \"%s\": %m", path);

	/*
	 * This fails, for example with EOPNOTSUPP or EXDEV, if the file system
	 * cannot clone files.  The caller copies the file then.
	 */
	if (ioctl(new_fd, FICLONE, fd) < 0)
	{
		close(new_fd);
		archive_dir_remove_file(dir, name);
		new_fd = -1;
	}
	free(path);
	return new_fd;
}

void
archive_dir_remove_file(const ArchiveDir *dir, const char *name)
{
	char	   *path;

	if (dir->command)
		return;
	path = file_path(dir, name);
	if (unlink(path) < 0 && errno != ENOENT)
		pg_fatal("could not remove file \"%s\": %m", path);
	free(path);
}

Sink *
archive_dir_take_toc(ArchiveDir *dir)
{
	Sink	   *toc = dir->toc;

	dir->toc = NULL;
	return toc;
}

void
archive_dir_publish(ArchiveDir *dir, SyncMethod sync_method)
{
	char	   *final;

	if (dir->command)
	{
		Sink	   *sink;

		/*
		 * The commands of all other files have succeeded, so store toc.dat,
		 * which makes the archive complete.
		 */
		interrupt_check();
		sink = archive_dir_new_file(dir, TOC_NAME);
		sink_write(sink, dir->toc_text.data, dir->toc_text.len);
		sink_finish(sink);
		sink_free(sink);
		return;
	}

	/*
	 * Flush all files before toc.dat gets its name, and flush that name last.
	 * So if a toc.dat exists after a crash, all other files are complete.
	 */
	archive_sync_files(dir->path, sync_method);

	final = file_path(dir, TOC_NAME);
	interrupt_check();
	if (renameat(dirfd(dir->listing), TOC_TEMP_NAME, dirfd(dir->listing),
				 TOC_NAME) < 0)
		pg_fatal("could not rename file \"%s\" to \"%s\": %m",
				 dir->temp_path, final);
	if (sync_method != SYNC_NONE)
		archive_sync_directory(dir->path, dir->made);
	dir->whole = true;
}

/*
 * archive_dir.c
 *		Makes an archive's directory, and makes it whole.
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "common/file_utils.h"

#include "archive/archive_clean.h"
#include "archive/archive_dir.h"
#include "archive/archive_name.h"
#include "archive/sink_archive.h"
#include "base/cleanup.h"
#include "base/interrupt.h"
#include "progress/progress.h"

struct ArchiveDir
{
	char	   *path;
	bool		made;			/* by us, not found empty */
	PQExpBufferData toc_text;	/* with commands: kept until all is done */
	char	   *temp_path;		/* toc.dat.tmp, which claims the directory */
	Sink	   *toc;			/* open on it from then on, until taken */
	DIR		   *listing;		/* open, lest no descriptor be left */
};

/*
 * An exit callback: leave nothing that looks like part of an archive.
 * toc.dat, should it be there already, goes first, as all else is but parts.
 */
static void
remove_files(void *arg)
{
	ArchiveDir *dir = arg;
	char	   *toc = psprintf("%s/%s", dir->path, TOC_NAME);
	struct dirent *entry;

	if (unlink(toc) < 0 && errno != ENOENT)
		pg_log_warning("could not remove file \"%s\": %m", toc);
	free(toc);
	rewinddir(dir->listing);
	while ((entry = readdir(dir->listing)) != NULL)
	{
		char	   *path;

		if (!archive_name_is_part(entry->d_name))
			continue;
		path = psprintf("%s/%s", dir->path, entry->d_name);
		if (unlink(path) < 0)
			pg_log_warning("could not remove file \"%s\": %m", path);
		free(path);
	}
	if (dir->made && rmdir(dir->path) < 0)
		pg_log_warning("could not remove directory \"%s\": %m", dir->path);
}

bool
archive_dir_check(const char *path)
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
			pg_log_error_hint("Remove it, empty it, or name another one.");
			exit(1);
	}
}

void
archive_dir_keep_out(const char *directory, const char *what, const char *path)
{
	char	   *parent = pg_strdup(path);
	struct stat st;
	struct stat dir_st;

	get_parent_directory(parent);
	if (directory && stat(*parent ? parent : ".", &st) == 0 &&
		stat(directory, &dir_st) == 0 &&
		st.st_dev == dir_st.st_dev && st.st_ino == dir_st.st_ino)
	{
		pg_log_error("the %s \"%s\" would be in the archive's directory",
					 what, path);
		pg_log_error_hint("Name another place: a directory holds the archive's own files only.");
		exit(1);
	}
	free(parent);
}

/* As long as we, or a worker, live, no other run may clean the directory. */
static void
lock_directory(ArchiveDir *dir, bool must)
{
	dir->listing = opendir(dir->path);
	if (dir->listing == NULL)
		pg_fatal("could not open directory \"%s\": %m", dir->path);
	if (flock(dirfd(dir->listing), LOCK_EX | LOCK_NB) == 0)
		return;
	if (errno == EWOULDBLOCK)
		pg_fatal("directory \"%s\" is in use by another run", dir->path);
	/* a file system without locks */
	if (must)
		pg_fatal("could not lock directory \"%s\": %m", dir->path);
	pg_log_info("could not lock directory \"%s\": %m", dir->path);
}

/*
 * Two runs may have found it missing or empty; toc.dat.tmp can be created by
 * one only.  The other ends here, before it would remove the files of the
 * first.
 */
static void
claim_directory(ArchiveDir *dir)
{
	dir->temp_path = psprintf("%s/%s", dir->path, TOC_TEMP_NAME);
	dir->toc = sink_file_new(dir->temp_path);
	cleanup_push(remove_files, dir);
}

ArchiveDir *
archive_dir_create(const char *path, bool clean)
{
	ArchiveDir *dir = pg_malloc0(sizeof(ArchiveDir));

	dir->path = pg_strdup(path);
	canonicalize_path(dir->path);
	if (clean && pg_check_dir(dir->path) > 1)
	{
		lock_directory(dir, true);
		archive_clean_check(dir->path, dir->listing);
		return dir;
	}
	if (!archive_dir_check(dir->path))
	{
		/* as pg_dump: the parent must be there */
		if (mkdir(dir->path, 0700) < 0)
			pg_fatal("could not create directory \"%s\": %m", dir->path);
		dir->made = true;
	}
	lock_directory(dir, false);
	claim_directory(dir);
	return dir;
}

void
archive_dir_clean(ArchiveDir *dir)
{
	if (dir->toc)
		return;
	archive_clean(dir->path, dir->listing);
	claim_directory(dir);
}

ArchiveDir *
archive_dir_create_piped(const char *pattern)
{
	ArchiveDir *dir = pg_malloc0(sizeof(ArchiveDir));

	sink_archive_set_command(pattern);
	dir->path = pg_strdup("-");
	initPQExpBuffer(&dir->toc_text);
	dir->toc = sink_buffer_new(&dir->toc_text);
	return dir;
}

const char *
archive_dir_path(const ArchiveDir *dir)
{
	return dir->path;
}

Sink *
archive_dir_take_toc(ArchiveDir *dir)
{
	Sink	   *toc = dir->toc;

	dir->toc = NULL;
	return toc;
}

static void
sync_file_or_dir(const char *path, bool is_dir)
{
	if (fsync_fname(path, is_dir) != 0)
		pg_fatal("could not flush \"%s\" to disk", path);
}

static void
sync_one_file(const char *path, const char *name)
{
	char	   *file = psprintf("%s/%s", path, name);

	sync_file_or_dir(file, false);
	free(file);
}

/*
 * Do it to all files of the archive, if there is something to do; how many?
 */
static int
for_all_files(const char *path, void (*sync) (const char *path, const char *name),
			  volatile int *n_done)
{
	DIR		   *d = opendir(path);
	struct dirent *entry;

	if (d == NULL)
		pg_fatal("could not open directory \"%s\": %m", path);
	for (*n_done = 0; errno = 0, (entry = readdir(d)) != NULL;)
	{
		if (!archive_name_is_part(entry->d_name))
			continue;
		interrupt_check();
		if (sync)
			sync(path, entry->d_name);
		++*n_done;
		progress_tick();
	}
	if (errno != 0)
		pg_fatal("could not read directory \"%s\": %m", path);
	closedir(d);
	return *n_done;
}

/* Every file in the directory, then its own entries. */
static void
sync_all_files(const char *path)
{
	int			n_done;
	int			n_files = for_all_files(path, NULL, &n_done);

	progress_stage_count("flushing files", "", &n_done, n_files);
	(void) for_all_files(path, sync_one_file, &n_done);
	sync_file_or_dir(path, true);
	progress_end();
}

#ifdef __linux__
static void
sync_file_system(const char *path)
{
	int			fd = open(path, O_RDONLY);

	if (fd < 0)
		pg_fatal("could not open directory \"%s\": %m", path);
	progress_stage_count("flushing files", "", NULL, 0);
	if (syncfs(fd) < 0)
		pg_fatal("could not synchronize file system for file \"%s\": %m", path);
	progress_end();
	close(fd);
}
#endif

static void
sync_archive(const char *path, SyncMethod sync_method)
{
	switch (sync_method)
	{
		case SYNC_NONE:
			break;
		case SYNC_FSYNC:
			sync_all_files(path);
			break;
		case SYNC_SYNCFS:
#ifdef __linux__
			sync_file_system(path);
#endif
			break;
	}
}

/* All commands have succeeded: now that of toc.dat. */
static void
pipe_toc(ArchiveDir *dir)
{
	Sink	   *sink;

	interrupt_check();
	sink = sink_archive_new(TOC_NAME);
	sink_write(sink, dir->toc_text.data, dir->toc_text.len);
	sink_finish(sink);
	sink_free(sink);
	cleanup_forget_all();
}

void
archive_dir_publish(ArchiveDir *dir, SyncMethod sync_method)
{
	char	   *final;

	if (sink_archive_is_piped())
	{
		pipe_toc(dir);
		return;
	}
	sync_archive(dir->path, sync_method);

	final = psprintf("%s/%s", dir->path, TOC_NAME);
	interrupt_check();
	if (rename(dir->temp_path, final) < 0)
		pg_fatal("could not rename file \"%s\" to \"%s\": %m",
				 dir->temp_path, final);
	if (sync_method != SYNC_NONE)
	{
		sync_file_or_dir(dir->path, true);
		/* a directory just made is an entry in its parent */
		if (dir->made && fsync_parent_path(dir->path) != 0)
			pg_fatal("could not flush the parent directory of \"%s\" to disk",
					 dir->path);
	}
	cleanup_forget_all();
	free(final);
}

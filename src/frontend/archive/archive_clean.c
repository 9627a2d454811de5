/*
 * archive_clean.c
 *		Flushes the files of an archive, and removes those of an earlier one.
 *
 * Only files that a manifest, or the names of an archive's files, prove to be
 * ours are removed.  The directory is open all the time, as others may give
 * its path to another one.
 */
#include "base/fe_compat.h"

#include <sys/wait.h>

#include "common/file_utils.h"

#include "archive/archive_clean.h"
#include "archive/archive_name.h"
#include "archive/manifest.h"
#include "base/buffer.h"
#include "base/interrupt.h"
#include "process/child_program.h"
#include "process/progress.h"
#include "stream/regular_file.h"

/* ----------
 * Flushes the files of an archive, one by one or with their file system.
 * ----------
 */

/* How often a child that flushes is looked at. */
#define LOOK_MS 20

static void
sync_file_or_dir(const char *path, bool is_dir)
{
	if (fsync_fname(path, is_dir) != 0)
		pg_fatal("could not flush \"%s\" to disk", path);
}

/*
 * Look at all files of the archive, and flush them if asked for; how many?
 */
static int
for_all_files(const char *path, bool flush, volatile int *n_done)
{
	DIR		   *d = opendir(path);
	const char *name;

	if (d == NULL)
		pg_fatal("could not open directory \"%s\": %m", path);
	for (*n_done = 0; (name = directory_next(d)) != NULL;)
	{
		if (!archive_name_is_part(name))
			continue;
		interrupt_check();
		if (flush)
			sync_file_or_dir(psprintf("%s/%s", path, name), false);
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
	int			n_files = for_all_files(path, false, &n_done);

	/*
	 * The files are counted first, for the progress.  Each is opened again by
	 * its name: the workers that wrote them have ended.
	 */
	progress_stage_count("syncing files to disk", "", &n_done, n_files);
	(void) for_all_files(path, true, &n_done);
	sync_file_or_dir(path, true);
	progress_end();
}

static void
flush_file_system(const void *path)
{
	int			fd = open(path, O_RDONLY);

	if (fd < 0)
		pg_fatal("could not open directory \"%s\": %m", (const char *) path);
	if (syncfs(fd) < 0)
		pg_fatal("could not synchronize file system for file \"%s\": %m",
				 (const char *) path);
	close(fd);
}

void
archive_sync_file_system(const char *path)
{
	/* syncfs() may take minutes, in which no handler could make it return */
	archive_sync_apart(flush_file_system, path);
}

void
archive_sync_files(const char *path, SyncMethod sync_method)
{
	switch (sync_method)
	{
		case SYNC_NONE:
			break;
		case SYNC_FSYNC:
			sync_all_files(path);
			break;
		case SYNC_SYNCFS:
			progress_stage_count("syncing files to disk", "", NULL, 0);
			archive_sync_file_system(path);
			progress_end();
			break;
	}
}

void
archive_sync_directory(const char *path, bool made)
{
	sync_file_or_dir(path, true);
	/* a directory just made is an entry in its parent */
	if (made && fsync_parent_path(path) != 0)
		pg_fatal("could not flush the parent directory of \"%s\" to disk", path);
}

void
archive_sync_apart(void (*flush) (const void *arg), const void *arg)
{
	pid_t		leader = getpid();
	pid_t		pid = interrupt_fork("child process");
	pid_t		gone;
	int			status;

	if (pid == 0)
	{
		interrupt_install_worker(leader, NULL);
		interrupt_release_signals();
		flush(arg);
		_exit(0);
	}

	/*
	 * The child has the handlers of a worker, so that SIGTERM ends it even in
	 * the middle of a system call that can be interrupted.
	 */
	cleanup_push(child_process_end, &pid);
	while ((gone = waitpid(pid, &status, WNOHANG)) == 0 ||
		   (gone < 0 && errno == EINTR))
	{
		interrupt_check();
		progress_tick();
		pg_usleep(LOOK_MS * 1000L);
	}
	if (gone < 0)
		pg_fatal("could not wait for child process: %m");
	pid = 0;
	cleanup_pop(child_process_end, &pid);
	/* the signal that ends this process has ended the child, too */
	interrupt_check();
	if (WIFSIGNALED(status))
		pg_fatal("the process that flushes files was terminated by signal %d: %s",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (status != 0)
		exit(1);				/* it has said why */
}

/* ----------
 * Decides what in a directory is ours, then removes it.
 * ----------
 */

/* How often a directory is emptied that others write in. */
#define MOST_TRIES 10

typedef struct Cleaning
{
	const char *path;
	DIR		   *listing;
	Manifest   *manifest;		/* NULL if none can be believed */
	const char **known;			/* its paths, sorted */
} Cleaning;

static bool
exists(const Cleaning *cleaning, const char *name)
{
	struct stat st;

	return fstatat(dirfd(cleaning->listing), name, &st,
				   AT_SYMLINK_NOFOLLOW) == 0;
}

#define REMOVE_YOURSELF_HINT "Remove the directory yourself, or specify another one."

/* Who wrote what is there? */
static void
find_proof(Cleaning *cleaning)
{
	const Manifest *manifest;
	const char *problem;
	bool		any;

	cleaning->manifest = manifest_load(cleaning->path, &any, &problem);
	manifest = cleaning->manifest;
	if (manifest)
	{
		cleaning->known = pg_malloc((manifest->n_files + 1) * sizeof(char *));
		for (int i = 0; i < manifest->n_files; i++)
			cleaning->known[i] = manifest->files[i].path;
		qsort(cleaning->known, manifest->n_files, sizeof(char *), compare_strings);
	}
	else if (exists(cleaning, TOC_NAME) || !exists(cleaning, TOC_TEMP_NAME))
	{
		pg_log_error(any ? "could not recognize directory \"%s\" as an archive of pg_pardump" :
					 "directory \"%s\" was not written by pg_pardump",
					 cleaning->path);
		if (any)
			pg_log_error_detail("File \"%s\" is damaged: %s.", MANIFEST_NAME,
								problem);
		else
			pg_log_error_detail("File \"%s\" is missing.", MANIFEST_NAME);
		pg_fatal_hint(REMOVE_YOURSELF_HINT);
	}
}

/* One of those that prove that the rest is ours. */
static bool
is_proof(const char *name)
{
	return strcmp(name, TOC_TEMP_NAME) == 0 || strcmp(name, MANIFEST_NAME) == 0;
}

/* Where the tasks of a run that was killed have worked. */
static bool
is_tasks(const char *name)
{
	return strcmp(name, ARCHIVE_TASKS_NAME) == 0;
}

static bool
is_ours(const Cleaning *cleaning, const char *name)
{
	struct stat st;

	if (fstatat(dirfd(cleaning->listing), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;

	/*
	 * A run by tasks leaves this directory only if it was killed before its
	 * toc.dat got its name.  Beside a complete archive it would be a
	 * directory of the user's.
	 */
	if (is_tasks(name) && S_ISDIR(st.st_mode))
		return cleaning->manifest == NULL || exists(cleaning, TOC_TEMP_NAME);
	if (!S_ISREG(st.st_mode))
		return false;
	if (!archive_name_is_part(name))
		return false;			/* even if a manifest names it */
	if (strcmp(name, TOC_NAME) == 0)
		return cleaning->manifest != NULL;
	return cleaning->manifest == NULL || is_proof(name) ||
		bsearch(&name, cleaning->known, cleaning->manifest->n_files,
				sizeof(char *), compare_strings) != NULL;
}

/* The next name; NULL at the end. */
static const char *
next_name(const Cleaning *cleaning)
{
	const char *name = directory_next(cleaning->listing);

	if (name == NULL && errno != 0)
		pg_fatal("could not read directory \"%s\": %m", cleaning->path);
	return name;
}

static void
remove_file(const Cleaning *cleaning, const char *name)
{
	if (is_tasks(name))
		archive_clean_directory_at(dirfd(cleaning->listing), name,
								   psprintf("%s/%s", cleaning->path, name));
	else if (unlinkat(dirfd(cleaning->listing), name, 0) < 0 && errno != ENOENT)
		pg_fatal("could not remove file \"%s/%s\": %m", cleaning->path,
				 printable(name));
}

/* What is removed later must not survive what is removed before it. */
static void
flush_directory(const Cleaning *cleaning)
{
	if (fsync(dirfd(cleaning->listing)) < 0)
		pg_fatal("could not flush \"%s\" to disk: %m", cleaning->path);
}

/* False if there is nothing to be removed. */
static bool
check(Cleaning *cleaning)
{
	const char *name;

	rewinddir(cleaning->listing);
	if (next_name(cleaning) == NULL)
		return false;

	/*
	 * Nothing is removed before every name was looked at.  So a directory
	 * that was named by mistake stays as it is.
	 */
	find_proof(cleaning);
	rewinddir(cleaning->listing);
	while ((name = next_name(cleaning)) != NULL)
	{
		if (is_ours(cleaning, name))
			continue;
		pg_log_error("\"%s/%s\" was not written by pg_pardump", cleaning->path,
					 printable(name));
		pg_log_error_detail("Nothing was removed.");
		pg_fatal_hint(REMOVE_YOURSELF_HINT);
	}
	return true;
}

/* toc.dat first, what proves that the rest is ours last. */
static void
remove_all(const Cleaning *cleaning)
{
	const char *name;

	remove_file(cleaning, TOC_NAME);
	flush_directory(cleaning);
	rewinddir(cleaning->listing);
	while ((name = next_name(cleaning)) != NULL)
		if (!is_proof(name) && is_ours(cleaning, name))
			remove_file(cleaning, name);
	flush_directory(cleaning);

	/*
	 * If this is interrupted, the manifest is still there to prove that what
	 * is left is ours.
	 */
	remove_file(cleaning, TOC_TEMP_NAME);
	remove_file(cleaning, MANIFEST_NAME);
}

void
archive_clean(const char *path, DIR *listing, bool check_only)
{
	Cleaning	cleaning = {.path = path,.listing = listing};

	if (check(&cleaning) && !check_only)
		remove_all(&cleaning);
}

/*
 * An attempt that is at work yet may make another file meanwhile, some of
 * them several: but none once the directory is gone.  What has its path by
 * now goes only if it is empty.
 */
void
archive_clean_directory(int fd, const char *path)
{
	int			removed;
	int			n_tries = 0;

	do
	{
		DIR		   *listing = directory_list(fd);
		const char *name;

		while (listing && (name = directory_next(listing)) != NULL)
			if (unlinkat(fd, name, 0) < 0 && errno != ENOENT)
				pg_log_warning("could not remove file \"%s/%s\": %m", path,
							   printable(name));
		if (listing)
			closedir(listing);

		/*
		 * The path may lead to another directory by now, but rmdir() removes
		 * only an empty one, and does not follow a symbolic link at its end.
		 */
		removed = rmdir(path);
	} while (removed < 0 && errno == ENOTEMPTY && ++n_tries < MOST_TRIES);
	if (removed < 0)
		pg_log_warning("could not remove directory \"%s\": %m", path);
}

void
archive_clean_directory_at(int parent, const char *name, const char *path)
{
	int			fd = openat(parent, name,
							O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
	{
		archive_clean_directory(fd, path);
		close(fd);
	}
	else if (errno != ENOENT)
		pg_log_warning("could not remove directory \"%s\": %m", path);
}

/*
 * archive_clean.c
 *		Flushes the files of an archive to disk, and removes the files of an
 *		earlier archive for --clean-output.
 *
 * The program removes only files that it has written itself, as a manifest or
 * the names of all files in the directory prove.  It keeps the directory open
 * from the check to the end, because another user may replace the directory
 * at that path meanwhile.
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
 * Flushing an archive, either file by file or with its whole file system.
 * ----------
 */

/* How often the state of the child that flushes is checked. */
#define LOOK_MS 20

static void
sync_file_or_dir(const char *path, bool is_dir)
{
	if (fsync_fname(path, is_dir) != 0)
		exit(1);				/* it has reported the error */
}

/*
 * Count all files of the archive, and flush them if flush is set.  Returns
 * their number; *n_done is counted up meanwhile.
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

/*
 * Flush every file in the directory, then the directory itself, which makes
 * the names of the files durable.
 */
static void
sync_all_files(const char *path)
{
	int			n_done;
	int			n_files = for_all_files(path, false, &n_done);

	/*
	 * The files are counted first, so that the progress can show a
	 * percentage.  Each file is opened again by its name, because the workers
	 * that wrote it have ended.
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
	/*
	 * A child makes the call, because syncfs() may take minutes, and a signal
	 * does not interrupt it.
	 */
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
	/* The name of a new directory is stored in its parent. */
	if (made && fsync_parent_path(path) != 0)
		exit(1);
}

void
archive_sync_apart(void (*flush) (const void *arg), const void *arg)
{
	pid_t		leader = getpid();
	pid_t		pid = interrupt_fork();
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
	 * The child has the signal handlers of a worker, so that SIGTERM ends it,
	 * even within system calls that signals can interrupt.
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

	/*
	 * A signal to the process group has ended the child too: report the
	 * signal, and not a failure of the child.
	 */
	interrupt_check();
	if (WIFSIGNALED(status))
		pg_fatal("the process that flushes files was terminated by signal %d: %s",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (status != 0)
		exit(1);				/* it has reported why */
}

/* ----------
 * Removing an earlier archive.
 * ----------
 */

/*
 * How often to try to empty a directory in which other processes still write.
 */
#define MOST_TRIES 10

typedef struct Cleaning
{
	const char *path;
	DIR		   *listing;
	Manifest   *manifest;		/* NULL if missing or damaged */
	const char **known;			/* paths in the manifest, sorted */
} Cleaning;

static bool
exists(const Cleaning *cleaning, const char *name)
{
	struct stat st;

	return fstatat(dirfd(cleaning->listing), name, &st,
				   AT_SYMLINK_NOFOLLOW) == 0;
}

#define REMOVE_YOURSELF_HINT "Remove the directory yourself, or specify another one."

/*
 * Find out whether pg_pardump wrote the directory: there must be either a
 * valid manifest, or a toc.dat.tmp without a toc.dat, which a failed run
 * leaves.  Exits with a message otherwise.
 */
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
			pg_log_error_detail("%s", message_sentence(problem));
		else
			pg_log_error_detail("File \"%s\" is missing.", MANIFEST_NAME);
		pg_fatal_hint(REMOVE_YOURSELF_HINT);
	}
}

/* Is this a file that proves that the others are ours? */
static bool
is_proof(const char *name)
{
	return strcmp(name, TOC_TEMP_NAME) == 0 || strcmp(name, MANIFEST_NAME) == 0;
}

/* Is this the directory in which the tasks of a run work? */
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
	 * A distributed dump leaves this directory only if it was killed before
	 * it renamed toc.dat.  In a complete archive, a directory of this name
	 * belongs to the user.
	 */
	if (is_tasks(name) && S_ISDIR(st.st_mode))
		return cleaning->manifest == NULL || exists(cleaning, TOC_TEMP_NAME);
	if (!S_ISREG(st.st_mode))
		return false;
	if (!archive_name_is_part(name))
		return false;			/* even if the manifest lists it */
	if (strcmp(name, TOC_NAME) == 0)
		return cleaning->manifest != NULL;
	return cleaning->manifest == NULL || is_proof(name) ||
		bsearch(&name, cleaning->known, cleaning->manifest->n_files,
				sizeof(char *), compare_strings) != NULL;
}

/* Returns the next name in the directory, or NULL at the end. */
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

/*
 * Flush removals so that they become durable in order: after a crash, no file
 * may reappear that was removed before another one.
 */
static void
flush_directory(const Cleaning *cleaning)
{
	if (fsync(dirfd(cleaning->listing)) < 0)
		pg_fatal("could not fsync directory \"%s\": %m", cleaning->path);
}

/*
 * Returns false if the directory is empty.  Exits with a message if it
 * contains a file that may not be removed.
 */
static bool
check(Cleaning *cleaning)
{
	const char *name;

	rewinddir(cleaning->listing);
	if (next_name(cleaning) == NULL)
		return false;

	/*
	 * Every name is checked before anything is removed, so that a directory
	 * that was specified by mistake stays complete.
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

/*
 * Remove toc.dat first, because the rest is not an archive without it.  The
 * files that prove that the rest is ours are removed last.
 */
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
	 * toc.dat.tmp goes before the manifest: if the run is interrupted in
	 * between, the manifest still proves that the other files are ours.
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
 * Attempts that still run may create further files meanwhile, so the function
 * tries several times.  Once the directory is removed, they cannot create
 * any.
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

/*
 * archive_clean.h
 *		Flushes the files of an archive to disk when it is published, and
 *		removes what an earlier run left in a directory, for --clean-output.
 */
#ifndef ARCHIVE_CLEAN_H
#define ARCHIVE_CLEAN_H

#include <dirent.h>

#include "options/options.h"

/* ----------
 * Flushing an archive.
 * ----------
 */

/*
 * Flush all files in the directory, and their names, with the method of
 * --sync-method.  This is a stage of the progress.  Exits with a message on
 * failure.
 */
extern void archive_sync_files(const char *path, SyncMethod sync_method);

/*
 * Flush the whole file system that contains the directory, without a stage of
 * the progress.
 */
extern void archive_sync_file_system(const char *path);

/*
 * Flush the directory after a file got its name there.  made says that the
 * directory is new: then its parent is flushed too.
 */
extern void archive_sync_directory(const char *path, bool made);

/*
 * Call flush(arg) in a child process, and wait until it ends.  The child
 * reports errors itself, and exits.  This is for single calls that take long:
 * the process itself could not handle signals or show progress meanwhile.
 */
extern void archive_sync_apart(void (*flush) (const void *arg),
							   const void *arg);

/*
 * Remove all files in the directory, or, with check_only, only check whether
 * that is allowed.  The caller has locked the directory, on which listing is
 * open.
 *
 * The directory must contain an archive of pg_pardump, or the rest of one.
 * With a manifest, each file must be listed there.  Without one, the run has
 * failed and left toc.dat.tmp, and each file must have the name of an
 * archive's file.  If a file does not match, or is not a regular file, the
 * function exits with a message.  It also removes the directory of tasks
 * (ARCHIVE_TASKS_NAME).
 *
 * toc.dat is removed first, so that a directory that is partly removed does
 * not look like an archive.  The files that prove that the others are ours
 * are removed last, so that an interrupted removal can be repeated.
 */
extern void archive_clean(const char *path, DIR *listing, bool check_only);

/*
 * Remove an open directory and all files in it, such as the directory of
 * tasks; archive_clean_directory_at() does this for a directory in another
 * one, if it exists.  If path leads to another directory by now, that one is
 * not touched.  Files that cannot be removed are left, with a warning.
 */
extern void archive_clean_directory(int fd, const char *path);
extern void archive_clean_directory_at(int parent, const char *name,
									   const char *path);

#endif							/* ARCHIVE_CLEAN_H */

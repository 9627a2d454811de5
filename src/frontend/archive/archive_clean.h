/*
 * archive_clean.h
 *		Flushes the files of an archive, and, for --clean-output, removes what
 *		an earlier run left in a directory.
 */
#ifndef ARCHIVE_CLEAN_H
#define ARCHIVE_CLEAN_H

#include <dirent.h>

#include "options/options.h"

/* ----------
 * Makes sure that an archive has reached the disk.
 * ----------
 */

/*
 * Flush the files in the directory as asked for, and what names they have;
 * a stage of the progress.  Exits with a message on failure.
 */
extern void archive_sync_files(const char *path, SyncMethod sync_method);

/* The same of the file system that it is in, in the stage of the caller. */
extern void archive_sync_file_system(const char *path);

/*
 * A file got its name: flush the directory, and, if that was made, what its
 * own name is in.
 */
extern void archive_sync_directory(const char *path, bool made);

/*
 * Call flush(arg) in a child process, which says what fails and exits, and
 * wait for its end: for what takes long in one call, in which signals would
 * not be handled, nor progress shown.
 */
extern void archive_sync_apart(void (*flush) (const void *arg),
							   const void *arg);

/*
 * May the directory be emptied?  It must hold an archive of ours, or what is
 * left of one: every file must be named by its manifest or, if the run has
 * failed and left toc.dat.tmp, have the name of an archive's file.  If any is
 * not, or is not a regular file, exits with a message.  What tasks have left
 * is in a directory (ARCHIVE_TASKS_NAME).  listing is open on
 * the directory, which the caller has locked.
 *
 * Unless it is only to be checked, empty it.  toc.dat goes first, so what is
 * half removed looks like no archive; what proves that the rest is ours goes
 * last, so that it can be begun again.
 */
extern void archive_clean(const char *path, DIR *listing, bool check_only);

/*
 * Remove a directory of files, which is open, as that in which tasks have
 * worked; or the one that has this name in another, if there is one.  Others
 * may have given its path to another directory: nothing is removed from that.
 * What cannot be removed is left, with a warning.
 */
extern void archive_clean_directory(int fd, const char *path);
extern void archive_clean_directory_at(int parent, const char *name,
									   const char *path);

#endif							/* ARCHIVE_CLEAN_H */

/*
 * archive_clean.h
 *		--clean-output: removes what an earlier run left in a directory.
 */
#ifndef ARCHIVE_CLEAN_H
#define ARCHIVE_CLEAN_H

#include "base/fe_compat.h"

#include <dirent.h>

/*
 * May the directory be emptied?  It must hold an archive of ours, or what is
 * left of one: every file must be named by its manifest or, if the run has
 * failed and left toc.dat.tmp, have the name of an archive's file.  If any is
 * not, or is not a regular file, exits with a message.  What tasks have left
 * is in a directory (ARCHIVE_TASKS_NAME).  listing is open on
 * the directory, which the caller has locked.
 */
extern void archive_clean_check(const char *path, DIR *listing);

/*
 * Check that again, and empty it.
 *
 * toc.dat goes first, so what is half removed looks like no archive; what
 * proves that the rest is ours goes last, so that it can be begun again.
 */
extern void archive_clean(const char *path, DIR *listing);

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

/*
 * archive_sync.h
 *		Makes sure that an archive has reached the disk.
 */
#ifndef ARCHIVE_SYNC_H
#define ARCHIVE_SYNC_H

#include "options/options.h"

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

#endif							/* ARCHIVE_SYNC_H */

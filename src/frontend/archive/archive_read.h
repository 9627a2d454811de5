/*
 * archive_read.h
 *		Opens the files of an archive: in a directory, or as the output of
 *		commands (--pipe), which are run again if they fail.
 */
#ifndef ARCHIVE_READ_H
#define ARCHIVE_READ_H

#include "archive/archive_open.h"
#include "base/clock.h"

/* What is wrong with a file that commands do not return for this reason. */
#define ARCHIVE_READ_UNLISTED "is not listed in the manifest"

/*
 * Open the file that a table of contents or a list of large objects calls
 * name.  In a directory its suffix is looked up.  Of a command the manifest
 * tells its name, size and checksum; if it does not, the file is compressed
 * by this method, and has its suffix.
 *
 * NULL, and *problem, if there is no such file, or the name is not valid.
 * The result of a command is right only when all of it has been read.
 */
extern DataReader *archive_read_open(const Archive *archive, const char *name,
									 CompressMethod method,
									 const char **problem);

/*
 * Start the command for the file of this name.  What it returns is compared
 * with the manifest's entry, unless that is NULL.
 */
extern CommandReader *archive_read_start(const Archive *archive,
										 const char *path,
										 const ManifestFile *want);

/*
 * Of files that are held in memory, and lists without a manifest.  A command
 * may write without an end.  The table of contents of a million objects has
 * about half of it.
 */
#define ARCHIVE_READ_MOST_BYTES ((size_t) 512 * 1024 * 1024)

/*
 * All bytes of a file as a command returns them, followed by a zero, and
 * owned; NULL, and *problem, owned, if that fails.  They have the size and
 * the checksum that the manifest has for a file of this name.
 */
extern char *archive_read_all(const Archive *archive, const char *name,
							  size_t *len, char **problem);

/*
 * Reading has failed, for this reason.  If the archive is read through
 * commands, and --retries allows another attempt, give a warning, wait, and
 * return true.
 */
extern bool archive_read_again(const Archive *archive, Retry *retry,
							   const char *problem);

/* Report this error, after the attempts of retry; and then exit. */
extern void archive_read_tell(const Archive *archive, const Retry *retry,
							  const char *problem);
pg_noreturn extern void archive_read_failed(const Archive *archive,
											const Retry *retry,
											const char *problem);

#endif							/* ARCHIVE_READ_H */

/*
 * archive_read.h
 *		Opens the files of an archive: in a directory, or as the output of
 *		commands (--pipe), which are run again if they fail.
 */
#ifndef ARCHIVE_READ_H
#define ARCHIVE_READ_H

#include "archive/archive_open.h"
#include "base/clock.h"

/* The problem of a file for which no command runs. */
#define ARCHIVE_READ_UNLISTED "file \"%s\" is not listed in the manifest"

/*
 * Open the file with this name in a table of contents or a list of large
 * objects.  In a directory, the function looks for the name with each suffix.
 * If commands return the files, the name with its suffix, the size and the
 * checksum are those in the manifest.  Without a manifest, the suffix is that
 * of this compression method.
 *
 * Returns NULL and sets *problem if there is no such file, or if the name is
 * not valid.  The output of a command is complete and correct only if it was
 * read to its end without an error.
 */
extern DataReader *archive_read_open(const Archive *archive, const char *name,
									 CompressMethod method,
									 const char **problem);

/*
 * Returns the name of the file that archive_read_open() would get from a
 * command, with its suffix, owned.  *want is set to its entry in the
 * manifest, or to NULL if there is no manifest.  Returns NULL and sets
 * *problem if the name is not valid or not in the manifest.
 */
extern char *archive_read_name(const Archive *archive, const char *name,
							   CompressMethod method,
							   const ManifestFile **want,
							   const char **problem);

/*
 * A limit for files that are held in memory, and for lists of large objects
 * without a manifest, because a command may write without an end.  The table
 * of contents of a million objects has about half of these bytes.
 */
#define ARCHIVE_READ_MOST_BYTES ((size_t) 512 * 1024 * 1024)

/*
 * Read all of a file that a command returns, and append a zero byte.  The
 * caller owns the result.  If the manifest contains the file, its size and
 * its checksum are compared.  Returns NULL and sets *problem, which the
 * caller owns, if reading fails.
 */
extern char *archive_read_all(const Archive *archive, const char *name,
							  size_t *len, char **problem);

/* The same for a command that has started, whose reader is freed. */
extern char *archive_read_started(const Archive *archive,
								  CommandReader *reader, size_t *len,
								  char **problem);

/*
 * Run the command for the manifest once, and set archive->manifest.  The
 * reader is that of the command, borrowed, or NULL if the command has not
 * started.  Adds the text to the checksum in identity, unless that is NULL.
 * Returns the cause of an error, owned, or NULL.
 */
extern char *archive_read_manifest(Archive *archive, CommandReader *reader,
								   pg_checksum_context *identity);

/*
 * Warn if archive_read_manifest() would refuse a manifest of this size.
 */
extern void archive_read_check_manifest_size(uint64 bytes);

/*
 * To be called when reading has failed for this reason.  If commands return
 * the files, and --retries allows another attempt, prints a warning, waits,
 * and returns true.  The failure of a command that was started early does not
 * count (archive_prefetch_failed()).
 */
extern bool archive_read_again(const Archive *archive, Retry *retry,
							   const char *problem);

/*
 * Report this error, its cause, unless that is NULL, and the number of
 * attempts.  The second function then exits.
 */
extern void archive_read_report(const Archive *archive, const Retry *retry,
								const char *error, const char *cause);
pg_noreturn extern void archive_read_failed(const Archive *archive,
											const Retry *retry,
											const char *error,
											const char *cause);

#endif							/* ARCHIVE_READ_H */

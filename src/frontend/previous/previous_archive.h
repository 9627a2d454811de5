/*
 * previous_archive.h
 *		The archive that an incremental dump is made against.
 *
 * Its manifest says what its files hold, by fingerprints of the rows as they
 * were stored (doc/extension.md).  A file can be used again for the same
 * blocks of the same table if fingerprint and definition are what they were,
 * and all else that the text of rows depends on: that is in the manifest's
 * head, and must be equal.
 */
#ifndef PREVIOUS_ARCHIVE_H
#define PREVIOUS_ARCHIVE_H

#include "archive/manifest.h"

typedef struct PreviousArchive
{
	const char *directory;
	int			dir_fd;			/* open on it, for regular_file_open() */
	const Manifest *manifest;
	const ManifestFile **files; /* of rows, by table and start block */
	int			n_files;
} PreviousArchive;

/*
 * Exits with a message if the previous archive's directory does not exist: a
 * full dump in its place might not fit on the disk.  The same if the archive
 * to be made would be in it; directory may be NULL.
 */
extern void previous_archive_check(const char *previous, const char *directory);

/*
 * Open it for a dump whose manifest is going to have this head.  NULL, and
 * *problem, if nothing of it can be used.  Never closed.
 */
extern PreviousArchive *previous_archive_open(const char *directory,
											  const Manifest *head,
											  const char **problem);

/*
 * The same for a task, whose leader has opened it, and found what of it can
 * be used: only to take files.  Where its directory is not within reach,
 * dir_fd is -1, of which a warning tells.
 */
extern PreviousArchive *previous_archive_reach(const char *directory,
											   pg_checksum_type checksum_type);

/* The order of its files, as qsort() compares pointers to them. */
extern int	previous_archive_compare(const void *a, const void *b);

#endif							/* PREVIOUS_ARCHIVE_H */

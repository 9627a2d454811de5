/*
 * archive_lookup.h
 *		Finds a file of a directory archive, as pg_restore does.
 */
#ifndef ARCHIVE_LOOKUP_H
#define ARCHIVE_LOOKUP_H

#include "shared/compress_spec.h"

/*
 * Open the file that a table of contents or a list of large objects calls
 * name, in the directory that dir is open on: the file of that name, or with
 * the suffix .gz, .lz4 or .zst, in this order (compress_io.c:
 * InitDiscoverCompressFileHandle).  The suffix that it has is its method.
 *
 * -1, and *problem, if there is none, or it is not a regular file, or the
 * name could lead out of the directory.
 */
extern int	archive_lookup_open(int dir, const char *name,
								CompressMethod *method, const char **problem);

/*
 * The directory has no table of contents, which has been told: if that is
 * because it has the archives of all databases of a cluster, hint at it.
 */
extern void archive_lookup_hint(const char *directory);

/* The size of that file; 0 if there is none. */
extern uint64 archive_lookup_bytes(int dir, const char *name);

#endif							/* ARCHIVE_LOOKUP_H */

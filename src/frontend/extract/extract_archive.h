/*
 * extract_archive.h
 *		Extracts one tar file with several processes.
 *
 * Frames are decompressed side by side.  What a frame's bytes belong to is
 * known when all before it have been looked through, from header to header:
 * so the reader (tar_reader.h) goes from each frame to the next, and the
 * files are written side by side again.
 */
#ifndef EXTRACT_ARCHIVE_H
#define EXTRACT_ARCHIVE_H

#include "extract/attributes.h"
#include "shared/compress.h"

/*
 * What no server starts without.  It has a suffix at first: as long as there
 * are none of its tablespaces, a server that was started would take those
 * where the backup's were.
 */
#define EXTRACT_LAST_FILE "global/pg_control"
#define EXTRACT_LAST_SUFFIX ".tmp"

/* What the paths of a tablespace's archive begin with. */
#define EXTRACT_TABLESPACE_PREFIX "PG_"

/*
 * The stage of the progress in which archives are extracted; their bytes, as
 * they are stored.
 */
extern void extract_archive_begin_stage(uint64 stored_bytes);

/*
 * Extract an archive into a directory, which is there and has no links, by
 * n_workers processes.  prefix is what all of its paths begin with, or "".
 * Where a tablespace is goes by the archive's own word, which must not be of
 * use for putting files into any directory of the system.  Attributes that
 * must wait are noted, with the directory's name.  No file gets more
 * permissions than a data directory's group may have.  Links are not made,
 * but noted, since they would lead what follows elsewhere: who has taken a
 * backup says in tablespace_map, too, which tablespaces there are.  Returns
 * how many there were.  Exits with a message on failure, or if the archive is
 * damaged or cut off.
 */
extern int	extract_archive(const char *path, CompressMethod method,
							const char *directory, const char *prefix,
							int n_workers, Attributes *attributes);

/* What was in all archives that have been extracted, as a line. */
extern void extract_archive_print_sum(FILE *out);

#endif							/* EXTRACT_ARCHIVE_H */

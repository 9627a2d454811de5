/*
 * extract_archive.h
 *		Extracts one tar file with several processes, and restores the
 *		attributes of its files: modification times, permissions and, if root
 *		extracts, owners.
 *
 * Frames are decompressed concurrently.  To which files the bytes of a frame
 * belong is known only after all previous frames have been parsed, from
 * header to header.  So one reader (tar_reader.h) parses the frames in order;
 * then the files are written concurrently again.
 *
 * Several processes write a file, each its own parts.  Each sets the time
 * after its write, so the last one sets it after all writes.  Attributes that
 * writing later files would change, such as the time of a directory, or that
 * would prevent later writes, such as a read-only mode, are noted, and set
 * after all files.
 */
#ifndef EXTRACT_ARCHIVE_H
#define EXTRACT_ARCHIVE_H

#include "pqexpbuffer.h"

#include "shared/compress.h"

/* The attributes that are noted, and the owner of the first member. */
typedef struct Attributes Attributes;

/*
 * The file without which no server starts.  It has a suffix at first: before
 * the backup's tablespaces exist, a server that was started would use the
 * tablespaces at the original locations.
 */
#define EXTRACT_LAST_FILE "global/pg_control"
#define EXTRACT_LAST_SUFFIX ".tmp"

/* The beginning of all paths in a tablespace's archive. */
#define EXTRACT_TABLESPACE_PREFIX "PG_"

/*
 * Make an empty list, in memory that is shared with processes forked later.
 */
extern Attributes *attributes_new(void);

/*
 * Begin the progress stage for all archives; stored_bytes is their total
 * size.
 */
extern void extract_archive_begin_stage(uint64 stored_bytes);

/*
 * Extract an archive to an existing directory, which has no links, with
 * n_workers processes.  prefix is "" or the beginning of all of its paths: it
 * prevents an archive from writing to other directories of the system,
 * because the archive itself determines the location of a tablespace.
 * Attributes that must wait are noted, with the directory's name.  No file
 * gets more permissions than the group of a data directory may have.
 *
 * Links are counted, but not created, because later paths could lead through
 * them; tablespace_map also lists the tablespaces.  Returns the number of
 * links.  Exits with a message on failure, or if the archive is damaged or
 * truncated.
 */
extern int	extract_archive(const char *path, CompressMethod method,
							const char *directory, const char *prefix,
							int n_workers, Attributes *attributes);

/*
 * If root runs the program: give a file or directory that is not in an
 * archive the owner of the archive's first member.  Call this before the
 * parent directory gets its owner from attributes_set_noted().
 */
extern void attributes_adopt(const Attributes *attributes, const char *path);

/*
 * After all files were written: set the attributes that were noted last, as
 * far as they belong to this directory, or all that remain if directory is
 * NULL.  The contents of a directory come before the directory.  Exits with a
 * message on failure.
 */
extern void attributes_set_noted(Attributes *attributes, const char *directory);

/* Append the figures of all extracted archives, for a summary. */
extern void extract_archive_append_sum(PQExpBuffer buf);

#endif							/* EXTRACT_ARCHIVE_H */

/*
 * previous_archive.h
 *		The archive that an incremental dump is made against.
 *
 * Its manifest says what its files hold, by fingerprints of the rows as they
 * were stored (doc/incremental_functions.md).  A file can be used again for
 * the same blocks of the same table if fingerprint and definition are what
 * they were, and all else that the text of rows depends on: that is in the
 * manifest's head, and must be equal.
 */
#ifndef PREVIOUS_ARCHIVE_H
#define PREVIOUS_ARCHIVE_H

#include "libpq-fe.h"

#include "archive/manifest.h"

/* ----------
 * By what fingerprints of rows are taken, and the settings that the rows are
 * printed with.
 * ----------
 */

typedef struct FingerprintSpec
{
	const char *algorithm;		/* as pg_pardump_fingerprint() has it */
	const char *key;			/* hexadecimal */
	char	   *settings;		/* of the sessions that read; owned */
} FingerprintSpec;

/* The settings of a session that rows are printed by, as text; owned. */
extern char *fingerprint_settings(PGconn *conn);

/*
 * With a key of its own, for an archive with checksums of this kind: who asks
 * for SHA there is afraid of intent, and gets fingerprints of SHA-256.
 */
extern FingerprintSpec *fingerprint_spec_new(PGconn *conn,
											 pg_checksum_type checksum_type);

/* ----------
 * The archive
 * ----------
 */

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

/* The detail of all warnings that the archive cannot be used. */
#define PREVIOUS_UNUSED_DETAIL "All rows will be dumped."

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

/* ----------
 * What the previous archive has of a table, and how it was cut.
 *
 * Of a table's last range the file has no end.  It is the number of blocks
 * that the table had: those behind it held nothing that the snapshot saw.
 * ----------
 */

typedef struct PreviousTable
{
	const ManifestFile **files; /* by start block; borrowed */
	int			n_files;
	const ManifestFile *reusable;	/* any with a fingerprint of all its rows;
									 * NULL if there is none */
} PreviousTable;

/* False if it has none of the table's files. */
extern bool previous_table_find(const PreviousArchive *previous, Oid table,
								PreviousTable *found);

/*
 * The file of these blocks, of a table that has n_blocks now, if it may be
 * used again, or NULL.  InvalidBlockNumber means no end.
 */
extern const ManifestFile *previous_table_match(const PreviousTable *table,
												BlockNumber start, BlockNumber end,
												BlockNumber n_blocks);

/*
 * Cut a table that has n_blocks now as it was cut: what is new of it goes to
 * the last range, unless that is at least half a chunk, or the range would be
 * larger than one and a half.  The start blocks, owned; their number is 0 if
 * it was not cut so that every block was in one file.
 */
extern int	previous_table_cuts(const PreviousTable *table, BlockNumber n_blocks,
								BlockNumber chunk_blocks, BlockNumber **starts);

#endif							/* PREVIOUS_ARCHIVE_H */

/*
 * previous_archive.h
 *		The archive with which an incremental dump is compared, to reuse its
 *		files.
 *
 * Its manifest contains fingerprints of the rows in its files, as the server
 * stored them (doc/incremental_functions.md).  A file can be reused for the
 * same blocks of the same table if fingerprint and definition have not
 * changed, and everything else on which the text of rows depends is equal:
 * that is in the head of the manifest.
 */
#ifndef PREVIOUS_ARCHIVE_H
#define PREVIOUS_ARCHIVE_H

#include "libpq-fe.h"

#include "archive/archive_open.h"

/* ----------
 * The rules for fingerprints of rows, and the settings with which the rows
 * are printed.
 * ----------
 */

typedef struct FingerprintSpec
{
	const char *algorithm;		/* name as in pg_pardump_fingerprint() */
	const char *key;			/* hexadecimal */
	char	   *settings;		/* settings of the reading sessions; owned */
} FingerprintSpec;

/* The settings of a session that affect the text of rows, as text; owned. */
extern char *fingerprint_settings(PGconn *conn);

/*
 * Make the rules with a new key, for an archive with checksums of this kind.
 * A user who chooses SHA wants to detect intentional changes, so fingerprints
 * use SHA-256 then.
 */
extern FingerprintSpec *fingerprint_spec_new(PGconn *conn,
											 pg_checksum_type checksum_type);

/* ----------
 * The archive
 * ----------
 */

typedef struct PreviousArchive
{
	const char *directory;		/* or the command that returns its files */
	int			dir_fd;			/* of the open directory, or -1 */
	const Archive *copies;		/* its files, by commands that copy them; NULL
								 * if they are in the directory */
	const Manifest *manifest;
	const char *identity;		/* hash of the manifest that a command has
								 * returned */
	const char *problem;		/* why nothing of it can be used, until
								 * previous_archive_accept() */
	const ManifestFile **files; /* data files, by table and start block */
	int			n_files;
} PreviousArchive;

/*
 * Exits with a message if the previous archive's directory does not exist,
 * because a full dump might not fit on the disk; and if the new archive would
 * be in it.  directory may be NULL.
 */
extern void previous_archive_check(const char *previous, const char *directory);

/* Warn that this archive cannot be used. */
extern void previous_archive_warn(const char *directory, const char *problem);

/*
 * Open the archive for a dump whose manifest will have this head.  Returns
 * NULL, and sets *problem, if nothing can be reused.  Never closed.
 */
extern PreviousArchive *previous_archive_open(const char *directory,
											  const Manifest *head,
											  const char **problem);

/*
 * Read its manifest and toc.dat through commands of --incremental-pipe,
 * before the plan: commands that fail are run again, which may take long.
 * Exits with a message if they return neither of the two.
 * previous_archive_accept() then does what previous_archive_open() does.
 */
extern PreviousArchive *previous_archive_fetch(const Options *options);
extern PreviousArchive *previous_archive_accept(PreviousArchive *previous,
												const Manifest *head,
												const char **problem);

/*
 * After the files were copied, and before the new archive gets its toc.dat:
 * read the manifest again.  Exits with a message if it has changed: another
 * dump, or this one, has then stored files with the same names and other
 * rows, which may have been copied.
 */
extern void previous_archive_check_again(const PreviousArchive *previous,
										 const Options *options);

/*
 * Open the archive in a task, which only copies files: its leader has found
 * out which files can be reused.  Unless pipe_copy is NULL, as for files in a
 * directory, commands copy them.  If the directory cannot be opened, there is
 * a warning, and dir_fd is -1.
 */
extern PreviousArchive *previous_archive_reach(const char *directory,
											   pg_checksum_type checksum_type,
											   const char *pipe_copy,
											   uint64 retries);

/* ----------
 * A table in the previous archive, and its chunks.
 *
 * The file of a table's last range has no end in the manifest.  Its end is
 * the number of blocks that the table had: the snapshot saw no rows in later
 * blocks.
 * ----------
 */

typedef struct PreviousTable
{
	const ManifestFile **files; /* sorted by start block; borrowed */
	int			n_files;
	const ManifestFile *reusable;	/* one with a fingerprint of all its rows;
									 * NULL if there is none */
} PreviousTable;

/* Find the files of a table.  Returns false if there are none. */
extern bool previous_table_find(const PreviousArchive *previous, Oid table,
								PreviousTable *found);

/*
 * The file of these blocks that may be reused, or NULL, for a table that now
 * has n_blocks.  InvalidBlockNumber means no end.
 */
extern const ManifestFile *previous_table_match(const PreviousTable *table,
												BlockNumber start, BlockNumber end,
												BlockNumber n_blocks);

/*
 * Cut a table that now has n_blocks as it was cut before.  New blocks are
 * added to the last range, unless they are at least half a chunk, or the
 * range would be larger than one and a half chunks.  Fills in the start
 * blocks, owned, and returns their number; 0 if the files do not contain each
 * block exactly once.
 */
extern int	previous_table_cuts(const PreviousTable *table, BlockNumber n_blocks,
								BlockNumber chunk_blocks, BlockNumber **starts);

#endif							/* PREVIOUS_ARCHIVE_H */

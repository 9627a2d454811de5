/*
 * verify_list.h
 *		The files of an archive that a verification reads: which exist, and
 *		which the manifest and the table of contents list.
 *
 * A list is made from a directory, or from the names for which commands
 * return files (--pipe).  Then the names in the manifest and in the table of
 * contents are marked in it.  Differences are findings.
 */
#ifndef VERIFY_LIST_H
#define VERIFY_LIST_H

#include "archive/archive_read.h"

/* ----------
 * What is known about a file, and what a verification finds.
 * ----------
 */

/* The properties that a file should have. */
typedef struct VerifyFile
{
	const char *name;			/* name in the archive; first, for
								 * compare_strings(); borrowed */
	ManifestFileKind kind;
	const char *table;			/* table of its rows, quoted as in SQL; NULL =
								 * unknown */
	bool		has_copy_rows;	/* it contains rows as COPY text, and an end
								 * mark */
	const ManifestFile *want;	/* NULL without a manifest */
	uint64		size;			/* size in the directory or in the manifest */
	const char *text;			/* list of large objects that a command has
								 * returned, with size bytes; or NULL */
} VerifyFile;

/* The space for texts of findings, for each worker. */
#define VERIFY_TEXT_BYTES 4096

/* The counts and findings of a process. */
typedef struct VerifyCounts
{
	uint64		rows;
	uint64		raw_bytes;
	uint64		stored_bytes;
	volatile uint64 bytes_read; /* stored bytes up to now */
	volatile int files;			/* files that were read */
	volatile int findings;
	int			unread;			/* findings that are failures of commands */
	bool		no_data;		/* a command has returned nothing for the
								 * current file, which may be that of an empty
								 * large object */
	char		text[VERIFY_TEXT_BYTES];	/* a line for each finding, as far
											 * as they fit */
} VerifyCounts;

/* ----------
 * The files of an archive, and where their names were found.
 * ----------
 */

typedef struct ListedFile
{
	VerifyFile	file;
	bool		unusable;		/* it is listed, but is missing or cannot be
								 * read, which was reported */
	bool		in_manifest;
	bool		in_toc;			/* named by toc.dat, or by a list that toc.dat
								 * names */
} ListedFile;

typedef struct FileList
{
	const char *directory;
	const Archive *archive;		/* archive whose files commands return; or
								 * NULL */
	const TocEntry **by_id;		/* entries of that archive, see
								 * toc_entries_by_id() */
	ListedFile *files;			/* sorted by name, with missing files and
								 * toc.dat, but without the manifest */
	int			n_files;
} FileList;

/*
 * A finding about a file, owned.  of_table is a format for the names of file
 * and table, and text is one for the name of the file, which is used if the
 * table is not known.
 */
extern char *verify_file_text(const VerifyFile *file, const char *of_table,
							  const char *text);

#define VERIFY_NOT_IN_MANIFEST \
	"file \"%s\" of table %s is not listed in the manifest", \
	ARCHIVE_READ_UNLISTED

/*
 * Log and count a finding.  details are clauses, one per line, or NULL.
 */
extern void verify_finding(VerifyCounts *counts, const char *finding,
						   const char *details);

/*
 * List the directory once.  Names from the archive's own files are only
 * looked up in this list, so a forged name cannot lead out of the directory.
 */
extern FileList *verify_list_new(const char *directory);

/*
 * List the files that commands return.  Commands cannot list a directory, so
 * these are the files in the manifest, or, without one, those in the table of
 * contents.
 */
extern FileList *verify_list_piped(const Archive *archive,
								   VerifyCounts *counts);

/*
 * Mark the files that the manifest names, and then those that the table of
 * contents names.  A name without a file, or a name that occurs twice, is one
 * finding.  verify_list_mark_toc() returns false if a list of large objects
 * cannot be read, so that not all names are known.
 */
extern void verify_list_mark_manifest(FileList *list, const Manifest *manifest,
									  VerifyCounts *counts);
extern bool verify_list_mark_toc(FileList *list, const Toc *toc,
								 VerifyCounts *counts);

/*
 * Open a regular file for reading, and nothing else.  Returns -1 and reports
 * a finding on failure.
 */
extern int	verify_file_open(const char *directory, const VerifyFile *file,
							 VerifyCounts *counts);

/*
 * Open a file of the list, whose name must be plain.  Returns -1 on failure,
 * which is a finding unless it was reported before.
 */
extern int	verify_list_open(FileList *list, const char *name,
							 VerifyCounts *counts);

/*
 * Report a finding about a file of the list, and do not read the file again.
 */
extern void verify_list_damaged(FileList *list, const char *name,
								VerifyCounts *counts, const char *finding,
								const char *details);

#endif							/* VERIFY_LIST_H */

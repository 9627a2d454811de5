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

#include "archive/archive_open.h"

/* ----------
 * What is known of a file, and what is found to be wrong with it.
 * ----------
 */

/* What a file is known to be. */
typedef struct VerifyFile
{
	const char *name;			/* first, for compare_strings(): in the
								 * directory; borrowed */
	ManifestFileKind kind;
	const char *table;			/* whose rows it has, as SQL names it; NULL if
								 * that is not known */
	bool		has_copy_rows;	/* COPY text, with its end mark */
	const ManifestFile *want;	/* NULL without a manifest */
	uint64		size;			/* as the directory was listed */
	const char *text;			/* a list of large objects, as long as size,
								 * that a command has returned; or NULL */
} VerifyFile;

/* Findings kept as text, of one worker. */
#define VERIFY_TEXT_BYTES 4096

/* What was found in it. */
typedef struct VerifyCounts
{
	uint64		rows;
	uint64		raw_bytes;
	uint64		stored_bytes;
	volatile uint64 bytes_read; /* as it goes, of what is stored */
	volatile int files;			/* that are done */
	volatile int findings;
	char		text[VERIFY_TEXT_BYTES];	/* as many as fit, a line each */
} VerifyCounts;

/* ----------
 * The files of an archive's directory, and who knows of them.
 * ----------
 */

typedef struct ListedFile
{
	VerifyFile	file;
	bool		unusable;		/* named, but not there, or cannot be opened:
								 * a finding already */
	bool		in_manifest;
	bool		in_toc;			/* named by it, or by a list that it names */
} ListedFile;

typedef struct FileList
{
	const char *directory;
	const Archive *archive;		/* likewise */
	const TocEntry **by_id;		/* of the archive, see toc.h */
	ListedFile *files;			/* by name; toc.dat too, the manifest not;
								 * with those that are missing */
	int			n_files;
} FileList;

/*
 * Log and count a finding about a file, which is named with its table, or
 * about one of which only the name is known.
 */
extern void verify_finding(VerifyCounts *counts, const VerifyFile *file,
						   const char *format,...) pg_attribute_printf(3, 4);

/*
 * List the directory once.  Names from the archive's own files are only
 * looked up in this list, so a forged name cannot lead out of the directory.
 */
extern FileList *verify_list_new(const char *directory);

/*
 * Commands do not list a directory: these are the files that the manifest
 * names, or else those that the table of contents does.
 */
extern FileList *verify_list_piped(const Archive *archive,
								   VerifyCounts *counts);

/*
 * Mark what the manifest, and then the table of contents, names.  What they
 * name and is not there, or twice, is a finding, but one only.  The second is
 * false if a list of large objects cannot be read: not all names are known.
 */
extern void verify_list_mark_manifest(FileList *list, const Manifest *manifest,
									  VerifyCounts *counts);
extern bool verify_list_mark_toc(FileList *list, const Toc *toc,
								 VerifyCounts *counts);

/*
 * Open a regular file, and nothing else, for reading: -1, and a finding, if
 * that fails.
 */
extern int	verify_file_open(const char *directory, const VerifyFile *file,
							 VerifyCounts *counts);

/*
 * Open one of its files, whose name is known to be plain: -1, and a finding
 * unless there is one already, if that fails.
 */
extern int	verify_list_open(FileList *list, const char *name,
							 VerifyCounts *counts);

/*
 * A finding about one of its files, which has been looked at with that: it is
 * not read again.
 */
extern void verify_list_damaged(FileList *list, const char *name,
								VerifyCounts *counts, const char *problem);

#endif							/* VERIFY_LIST_H */

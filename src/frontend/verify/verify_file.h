/*
 * verify_file.h
 *		One file of an archive: is it what it should be?
 */
#ifndef VERIFY_FILE_H
#define VERIFY_FILE_H

#include "pqexpbuffer.h"

#include "archive/manifest.h"
#include "archive/toc.h"

/* ----------
 * What is known of a file, and what is found to be wrong with it.
 * ----------
 */

/* What a file is known to be. */
typedef struct VerifyFile
{
	const char *name;			/* in the directory; borrowed */
	ManifestFileKind kind;
	const char *table;			/* whose rows it has, as SQL names it; NULL if
								 * that is not known */
	bool		has_copy_rows;	/* COPY text, with its end mark */
	const ManifestFile *want;	/* NULL without a manifest */
	uint64		size;			/* as the directory was listed */
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

/*
 * Log and count a finding about a file, which is named with its table, or
 * about one of which only the name is known.
 */
extern void verify_finding_file(VerifyCounts *counts, const VerifyFile *file,
								const char *format,...) pg_attribute_printf(3, 4);
extern void verify_finding(VerifyCounts *counts, const char *name,
						   const char *format,...) pg_attribute_printf(3, 4);

/*
 * Read the whole file, decompress it as its suffix says, and compare it with
 * what is wanted.  All that is wrong with it is one finding, which is logged
 * as an error, and counted; the rest is added to *counts.  Memory: a
 * decompressor's.
 */
extern void verify_file(const char *directory, const VerifyFile *file,
						pg_checksum_type checksum_type, VerifyCounts *counts);

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
	ListedFile *files;			/* by name; toc.dat too, the manifest not;
								 * with those that are missing */
	int			n_files;
} FileList;

/* Read the directory; exits with a message if it cannot be. */
extern FileList *verify_list_new(const char *directory);

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
 * A finding about one of its files, which has been looked at with that: it is
 * not read again.
 */
extern void verify_list_damaged(FileList *list, const char *name,
								VerifyCounts *counts, const char *problem);

/*
 * Open one of its files, whose name is known to be plain: -1, and a finding
 * unless there is one already, if that fails.
 */
extern int	verify_list_open(FileList *list, const char *name,
							 VerifyCounts *counts);

/* ----------
 * A verification that is going on.
 * ----------
 */

typedef struct VerifyRun
{
	const char *directory;
	Manifest   *manifest;		/* NULL without, or if it is damaged */
	VerifyCounts found;			/* by the leader */
	FileList   *list;
	VerifyFile **jobs;			/* files to be read, largest first */
	int			n_jobs;
	VerifyCounts *counts;		/* by worker, shared */
	int			worker;			/* in a worker: its number */
	int			n_workers;
	double		start;			/* of reading, as of run_clock_seconds() */
	uint64		expected_bytes; /* of all files to be read */
	PQExpBufferData findings;	/* of workers, the first of each */
} VerifyRun;

#endif							/* VERIFY_FILE_H */

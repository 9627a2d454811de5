/*
 * verify_list.h
 *		The files of an archive's directory, and who knows of them.
 */
#ifndef VERIFY_LIST_H
#define VERIFY_LIST_H

#include "toc/toc.h"
#include "verify/verify_finding.h"

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

#endif							/* VERIFY_LIST_H */

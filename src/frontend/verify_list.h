/*
 * verify_list.h
 *		The files of an archive's directory, and who knows of them.
 */
#ifndef VERIFY_LIST_H
#define VERIFY_LIST_H

#include "toc.h"
#include "verify_file.h"

typedef struct ListedFile
{
	VerifyFile	file;
	bool		in_manifest;
	bool		in_toc;			/* named by it, or by a list that it names */
} ListedFile;

typedef struct FileList
{
	const char *directory;
	ListedFile *files;			/* by name; toc.dat too, the manifest not */
	int			n_files;
} FileList;

/* Read the directory; exits with a message if it cannot be. */
extern FileList *file_list_new(const char *directory);

/*
 * Mark what the manifest, or the table of contents, names.  What they name and
 * is not there, or twice, is a finding.
 */
extern void file_list_mark_manifest(FileList *list, const Manifest *manifest,
									VerifyCounts *counts);
extern void file_list_mark_toc(FileList *list, const Toc *toc,
							   VerifyCounts *counts);

#endif							/* VERIFY_LIST_H */

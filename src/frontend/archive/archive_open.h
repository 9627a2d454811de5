/*
 * archive_open.h
 *		An archive to be read: a directory, or a file in the custom format, of
 *		pg_dump's or ours.
 */
#ifndef ARCHIVE_OPEN_H
#define ARCHIVE_OPEN_H

#include "archive/manifest.h"
#include "archive/toc.h"
#include "stream/decompress.h"

/* Commands that return the files of an archive. */
typedef struct ArchiveCommands
{
	ReadCommand command;
	int			retries;
	char	   *directory;		/* private: toc.dat, until
								 * archive_piped_forget_toc() */
	char	   *identity;		/* a hash of toc.dat and the manifest; see
								 * restore_journal_archive() */
} ArchiveCommands;

typedef enum ArchiveKind
{
	ARCHIVE_DIRECTORY,
	ARCHIVE_CUSTOM,
	ARCHIVE_TAR,
	ARCHIVE_SCRIPT,				/* a dump as plain SQL */
	ARCHIVE_UNKNOWN
} ArchiveKind;

/*
 * All members are read only, and stay as they are: workers that are forked
 * later inherit them.  The position of fd is never moved.
 */
typedef struct Archive
{
	char	   *path;
	ArchiveKind kind;			/* one of the first two */
	int			fd;				/* of the directory, or of the file */
	ArchiveCommands *commands;	/* that its files come from; NULL = path */
	Toc		   *toc;
	char	   *encoding;		/* of the data */
	Manifest   *manifest;		/* NULL if there is none */
	uint64	   *stored_bytes;	/* of toc's entries: about the size of their
								 * data, as they are stored; 0 = none, or not
								 * known */
} Archive;

/* What is there?  Exits with a message if it cannot be opened. */
extern ArchiveKind archive_open_kind(const char *path);

/*
 * Open it and read its table of contents, and its manifest, if it is of ours.
 * Of the custom format all data are found: if it was written to a pipe, all
 * of the file is looked through once.  Large objects of a directory do not
 * count in stored_bytes.  Exits with a message for what is not a whole table
 * of contents, or a kind that is not read here, or a damaged manifest.
 */
extern Archive *archive_open(const char *path);

/*
 * Read the table of contents of a directory, and free the reader.  Returns
 * what is wrong with it, or NULL.
 */
extern const char *archive_open_toc(Archive *archive, DataReader *reader);

/* Exit with this error, which the archive has. */
pg_noreturn extern void archive_open_damaged(const Archive *archive,
											 const char *problem);

#endif							/* ARCHIVE_OPEN_H */

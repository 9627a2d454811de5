/*
 * archive_open.h
 *		An archive that is read: a directory, or a file in the custom format,
 *		of pg_dump or pg_pardump.
 */
#ifndef ARCHIVE_OPEN_H
#define ARCHIVE_OPEN_H

#include "archive/manifest.h"
#include "archive/toc.h"
#include "stream/decompress.h"

typedef struct ArchivePrefetch ArchivePrefetch;

/* Commands that return the files of an archive. */
typedef struct ArchiveCommands
{
	ReadCommand command;
	int			retries;
	int			most_early;		/* limit for commands that a worker starts
								 * early */
	int64		latency_ms;		/* time until the command that
								 * archive_read_all() has read last had
								 * returned its first byte */
	ArchivePrefetch *prefetch;	/* see archive_prefetch.h; NULL = this process
								 * starts no commands early */
	char	   *directory;		/* private directory with toc.dat, until
								 * archive_piped_forget_toc() */
	char	   *identity;		/* a hash of toc.dat and the manifest; see
								 * archive_identity() */
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
 * Workers that are forked later inherit this, so the members must not change
 * when the archive is open.  The position of fd is never moved.
 */
typedef struct Archive
{
	char	   *path;
	ArchiveKind kind;			/* ARCHIVE_DIRECTORY or ARCHIVE_CUSTOM */
	int			fd;				/* the open directory or file; with commands,
								 * the private directory */
	ArchiveCommands *commands;	/* commands that return its files; NULL = the
								 * files are at path */
	Toc		   *toc;
	char	   *encoding;		/* encoding of the data */
	Manifest   *manifest;		/* NULL = no manifest */
	uint64	   *stored_bytes;	/* by entry of toc: approximate size of the
								 * stored data; 0 = no data, or unknown */
} Archive;

/*
 * Returns the kind of the archive at this path.  Exits with a message if it
 * cannot be opened.
 */
extern ArchiveKind archive_open_kind(const char *path);

/*
 * Open the archive, and read its table of contents, and the manifest if
 * pg_pardump wrote the archive.
 *
 * In the custom format, this finds the data of all entries: if the archive
 * was written to a pipe, the whole file is searched once.  In a directory,
 * large objects are not counted in stored_bytes.
 *
 * Exits with a message if the table of contents is not complete, the archive
 * is of another kind, or the manifest is damaged.
 */
extern Archive *archive_open(const char *path);

/*
 * Read the table of contents of a directory archive, and free the reader.
 * Returns the error message, or NULL.
 */
extern const char *archive_open_toc(Archive *archive, DataReader *reader);

/* A warning; a detail shows what is not checked without the manifest. */
#define ARCHIVE_NO_MANIFEST "archive \"%s\" has no manifest"

/* Exit with a message: the archive has this problem. */
pg_noreturn extern void archive_open_damaged(const Archive *archive,
											 const char *problem);

/*
 * Return a text that identifies the archive; owned.  It is a checksum of:
 *
 * - the manifest and the table of contents, if there is a manifest.  So the
 * archive may be at another place when it is read again;
 *
 * - otherwise, for a directory, the table of contents and the names, sizes
 * and times of all files; only the table of contents if commands return the
 * files;
 *
 * - for a file in custom format, the table of contents, the size and the
 * time.
 *
 * Exits with a message if the archive cannot be read.
 */
extern char *archive_identity(const Archive *archive);

#endif							/* ARCHIVE_OPEN_H */

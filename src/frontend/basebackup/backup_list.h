/*
 * backup_list.h
 *		The files of a cluster that go into its base backup.
 *
 * They are asked for by SQL, level by level (pg_ls_dir(), pg_stat_file()).
 * If the extension is there, it tells what is neither a file nor a directory:
 * that is skipped with a warning, as by pg_basebackup.  SQL alone follows
 * symbolic links: what a link leads to is taken for what it stands for.  Only
 * those of tablespaces, that of pg_wal, and those that lead nowhere are known
 * as links.  What is made after the list, or grows, is in the log.
 * Files that do not belong to a relation need not be in that, and may be
 * replaced: small ones are read as they are by then, and large ones come
 * last, and as long as they are by then; what is replaced meanwhile is read
 * again.
 */
#ifndef BACKUP_LIST_H
#define BACKUP_LIST_H

#include <time.h>

#include "plan/server_extension.h"

/* One with a directory of its own; those in pg_tblspc are of the base. */
typedef struct BackupTablespace
{
	char	   *oid;
	char	   *location;		/* on the server */
	char	   *path;			/* "pg_tblspc/OID" */
} BackupTablespace;

/* No tablespace's: the data directory's own. */
#define BACKUP_BASE (-1)

/* The log, where it is not in the base. */
#define BACKUP_WAL_FILE (-2)

/* A file that is read whole is not longer than this when it is listed. */
#define WHOLE_FILE_BYTES ((uint64) 1024 * 1024)

typedef struct BackupFile
{
	char	   *path;			/* below the data directory, any bytes */
	uint64		size;
	time_t		mtime;
	int			tablespace;		/* its number, or one of those above */
	bool		is_relation;	/* made of pages */
	uint32		segment;		/* of those of the relation's fork */
	bool		is_closed;		/* a directory: its contents are left out */
	bool		is_wal;			/* of the log: not to be shorter */
	bool		is_whole;		/* read whole, however long it is by then */

	/* of a directory */
	int			parent;			/* its number */
	uint64		names;			/* a sum of the names in it; 0: not known */
} BackupFile;

typedef struct BackupList
{
	BackupTablespace *tablespaces;
	int			n_tablespaces;
	BackupFile *directories;	/* each before what is in it */
	int			n_directories;
	BackupFile *files;
	int			n_files;
	int			n_moved;		/* of them, to another list */
	uint64		total_bytes;
} BackupList;

/*
 * The list, by a session whose client_encoding is SQL_ASCII.  wait_ms is for
 * the lock that holds the extension (table_lock_take()).
 * catalog_version is the server's: it is in the names of tablespaces'
 * directories.  Owned.
 */
extern BackupList *backup_list_new(PGconn *conn,
								   const ServerExtension *extension,
								   int wait_ms, int major,
								   const char *catalog_version);

/* Leave this file out, which is written in another way. */
extern void backup_list_remove(BackupList *list, const char *path);

/* ----------
 * Cuts the files of a backup into pieces, which workers read.
 *
 * A piece is what a worker reads by one query: ranges of files, of 4 MB
 * together at most.  A larger file is in many pieces, read side by side;
 * small ones share a piece.  All of a piece is of one tablespace, or the
 * base, which comes last; the larger files come first, so that no long one is
 * left at the end.  Behind them are those that are read whole, in pieces of
 * their own, whose lengths are those of the list.
 * ----------
 */

/* Of a piece, at most.  A multiple of every size of a page. */
#define PIECE_BYTES ((uint64) 4 * 1024 * 1024)
#define PIECE_RANGES 256

/* A part of a file; all of it, even of none, if the file is small. */
typedef struct BackupRange
{
	int			file;			/* of the list */
	uint64		offset;
	uint32		length;
} BackupRange;

typedef struct BackupPiece
{
	int			first;			/* of the ranges */
	int			n;
	int			tablespace;		/* as of BackupFile */
	bool		is_whole;		/* as of BackupFile */
	int			no;				/* among those of this tablespace */
} BackupPiece;

typedef struct BackupPlan
{
	const BackupList *list;
	BackupRange *ranges;		/* those of a file follow each other */
	int			n_ranges;
	BackupPiece *pieces;
	int			n_pieces;
} BackupPlan;

/*
 * Take the large files that do not belong to a relation off the list, for a
 * list of their own, which is to be read last, and has room for all others;
 * owned.
 */
extern BackupList *backup_plan_part_others(BackupList *list);

/* Sorts the list's files, and cuts them.  Owned. */
extern BackupPlan *backup_plan_new(BackupList *list);

/* ----------
 * Which files of a data directory belong in a base backup.
 *
 * The rules are those of src/backend/backup/basebackup.c:sendDir(), the same
 * from 15 to 18.  A path is one below the data directory, "base/5/1259"; the
 * directory itself is the empty text.
 * ----------
 */

typedef enum BackupFilter
{
	FILTER_TAKE,
	FILTER_TAKE_EMPTY,			/* a directory, without what is in it */
	FILTER_LEAVE_OUT
} BackupFilter;

/*
 * What becomes of an entry, by its name and the directory that it is in, if
 * that is taken with what is in it.  More of the files of relations is left
 * out by backup_filter_is_temporary() and _is_unlogged().
 */
extern BackupFilter backup_filter_entry(const char *directory,
										const char *name);

/*
 * Does this directory hold files of relations: of all databases (global), or
 * of one?
 */
extern bool backup_filter_is_global(const char *directory);
extern bool backup_filter_is_database(const char *directory);

/* The file of a relation that is not temporary, by its name. */
typedef struct RelationFile
{
	uint32		number;			/* that the name begins with */
	bool		init_fork;
	uint32		segment;
} RelationFile;

/* Read a name; false if it is none of those. */
extern bool backup_filter_relation(const char *name, RelationFile *file);

/* Is it the name of a temporary relation's file? */
extern bool backup_filter_is_temporary(const char *name);

#endif							/* BACKUP_LIST_H */

/*
 * backup_list.h
 *		Lists the files of a cluster that belong in its base backup, and cuts
 *		them into pieces.
 *
 * SQL queries list the directories level by level (pg_ls_dir(),
 * pg_stat_file()).  Files that are created or grow after they were listed are
 * in WAL, so recovery restores them.
 *
 * Symbolic links and special files need the extension.  With the extension,
 * anything that is neither a file nor a directory is skipped with a warning,
 * as pg_basebackup does.  SQL alone follows links, so the target of a link is
 * taken in its place.  Without the extension only the links of tablespaces,
 * the link of pg_wal, and links that lead nowhere are recognized.
 *
 * Files that do not belong to a relation may be replaced, and their changes
 * need not be in WAL.  So small ones are read whole, with the length that
 * they have at that moment.  Large ones are read last, with the length that
 * they have then, and again if they were replaced meanwhile.
 */
#ifndef BACKUP_LIST_H
#define BACKUP_LIST_H

#include <time.h>

#include "plan/server_extension.h"

/*
 * A tablespace outside the data directory.  Those within pg_tblspc belong to
 * the base.
 */
typedef struct BackupTablespace
{
	char	   *oid;
	char	   *location;		/* on the server */
	char	   *path;			/* "pg_tblspc/OID" */
} BackupTablespace;

/* The number for files of the data directory itself. */
#define BACKUP_BASE (-1)

/* The number for WAL that has a tar file of its own. */
#define BACKUP_WAL_FILE (-2)

/* Only files up to this length, when they are listed, are read whole. */
#define WHOLE_FILE_BYTES ((uint64) 1024 * 1024)

typedef struct BackupFile
{
	char	   *path;			/* in the data directory; any bytes */
	uint64		size;
	time_t		mtime;
	int			tablespace;		/* number of a tablespace, or one of the
								 * constants above */
	bool		is_relation;	/* consists of pages */
	uint32		segment;		/* number of the segment in the relation's
								 * fork */
	bool		is_closed;		/* a directory whose contents are left out */
	bool		is_wal;			/* a WAL segment, which must be complete */
	bool		is_whole;		/* read whole, with its current length */

	/* members for directories */
	int			parent;			/* number of the parent directory */
	uint64		names;			/* hash of the names in it; 0 = unknown */
} BackupFile;

typedef struct BackupList
{
	BackupTablespace *tablespaces;
	int			n_tablespaces;
	BackupFile *directories;	/* parents come before their children */
	int			n_directories;
	BackupFile *files;
	int			n_files;
	int			n_moved;		/* files that were moved to another list */
	uint64		total_bytes;
} BackupList;

/*
 * Make the list, using a session whose client_encoding is SQL_ASCII.  wait_ms
 * is how long to wait for the lock on the extension (table_lock_take()).
 * catalog_version is the server's, which is part of the names of tablespaces'
 * directories.  Owned.
 */
extern BackupList *backup_list_new(PGconn *conn,
								   const ServerExtension *extension,
								   int wait_ms, int major,
								   const char *catalog_version);

/* Remove this file from the list, because the leader writes it. */
extern void backup_list_remove(BackupList *list, const char *path);

/* ----------
 * The pieces of a backup, which workers read.
 *
 * A piece is what a worker reads with one query: ranges of files, together at
 * most 4 MB.  A larger file is in many pieces, so that several workers read
 * it; small files share a piece.  A piece belongs to one tablespace or to the
 * base, which comes last.  Larger files come first, so that no long file is
 * left at the end.  They are followed by files that are read whole, in
 * separate pieces, whose lengths are those of the list.
 * ----------
 */

/* The largest size of a piece.  It is a multiple of every page size. */
#define PIECE_BYTES ((uint64) 4 * 1024 * 1024)
#define PIECE_RANGES 256

/* A part of a file; for a small file the whole file, even if it is empty. */
typedef struct BackupRange
{
	int			file;			/* number in the list */
	uint64		offset;
	uint32		length;
} BackupRange;

typedef struct BackupPiece
{
	int			first;			/* number of the first range */
	int			n;
	int			tablespace;		/* as of BackupFile */
	bool		is_whole;		/* as of BackupFile */
	int			no;				/* number within the tablespace */
} BackupPiece;

typedef struct BackupPlan
{
	const BackupList *list;
	BackupRange *ranges;		/* ranges of a file are adjacent */
	int			n_ranges;
	BackupPiece *pieces;
	int			n_pieces;
} BackupPlan;

/*
 * Move the large files that do not belong to a relation to another list,
 * which is read last.  The other list has room for all files; owned.
 */
extern BackupList *backup_plan_part_others(BackupList *list);

/* Sort the list's files, and cut them into pieces.  Owned. */
extern BackupPlan *backup_plan_new(BackupList *list);

/* ----------
 * The files of a data directory that belong in a base backup.
 *
 * The rules are those of src/backend/backup/basebackup.c:sendDir(), which are
 * the same from 15 to 18.  Paths are relative to the data directory, for
 * example "base/5/1259"; the directory itself is "".
 * ----------
 */

typedef enum BackupFilter
{
	FILTER_TAKE,
	FILTER_TAKE_EMPTY,			/* a directory, without its contents */
	FILTER_LEAVE_OUT
} BackupFilter;

/*
 * What to do with an entry, according to its name and its directory.  The
 * contents of that directory must be in the backup.  Further files of
 * relations are left out by backup_filter_is_temporary(), and because they
 * are unlogged.
 */
extern BackupFilter backup_filter_entry(const char *directory,
										const char *name);

/*
 * Does this directory contain files of relations: of shared ones (global), or
 * of one database?
 */
extern bool backup_filter_is_global(const char *directory);
extern bool backup_filter_is_database(const char *directory);

/* The parts of the name of a file of a relation that is not temporary. */
typedef struct RelationFile
{
	uint32		number;			/* the number at the beginning */
	bool		init_fork;
	uint32		segment;
} RelationFile;

/* Parse a name.  Returns false if it is not such a name. */
extern bool backup_filter_relation(const char *name, RelationFile *file);

/* Is it the name of a temporary relation's file? */
extern bool backup_filter_is_temporary(const char *name);

#endif							/* BACKUP_LIST_H */

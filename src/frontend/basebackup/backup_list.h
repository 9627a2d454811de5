/*
 * backup_list.h
 *		The files of a cluster that go into its base backup.
 *
 * They are asked for by SQL, level by level (pg_ls_dir(), pg_stat_file()),
 * which follows symbolic links: what a link leads to is taken for what it
 * stands for.  Only those of tablespaces, and that of pg_wal, are known as
 * links.  What is made after the list, or grows, is in the write-ahead log.
 * Files that are no relation's need not be in that, and may be written anew:
 * small ones are read as they are by then, and large ones come last, and as
 * long as they are by then; what is replaced meanwhile is read again.
 */
#ifndef BACKUP_LIST_H
#define BACKUP_LIST_H

#include "base/fe_compat.h"

#include <time.h>

#include "libpq-fe.h"
#include "pqexpbuffer.h"

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
	bool		is_closed;		/* a directory: what is in it is no matter */
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
 * The list, by a session whose client_encoding is SQL_ASCII.  catalog_version
 * is the server's: it is in the names of tablespaces' directories.  Owned.
 */
extern BackupList *backup_list_new(PGconn *conn, int major,
								   const char *catalog_version);

/* Leave this file out, which is written in another way. */
extern void backup_list_remove(BackupList *list, const char *path);

/*
 * Append an SQL expression for a path that came from the server, whatever its
 * bytes: a literal must be valid in the server's encoding, and a file's name
 * need not be.
 */
extern void backup_list_append_path(PQExpBuffer sql, PGconn *conn,
									const char *path);

/*
 * A number of a result in binary format, of int8.  The program ends if it is
 * of another length: a server is not believed to send what it was asked for.
 */
extern int64 backup_list_int64(const PGresult *res, int row, int column);

/* The same of an int4, a row's first value: what it is of. */
extern uint32 backup_list_number(const PGresult *res, int row);

/* The same of a file's size, which is one that a file can have. */
extern uint64 backup_list_size(const PGresult *res, int row, int column,
							   const char *path);

#endif							/* BACKUP_LIST_H */

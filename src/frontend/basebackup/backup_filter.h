/*
 * backup_filter.h
 *		Which files of a data directory belong in a base backup.
 *
 * The rules are those of src/backend/backup/basebackup.c:sendDir(), the same
 * from 15 to 18.  A path is one below the data directory, "base/5/1259"; the
 * directory itself is the empty text.
 */
#ifndef BACKUP_FILTER_H
#define BACKUP_FILTER_H

#include "base/fe_compat.h"

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

#endif							/* BACKUP_FILTER_H */

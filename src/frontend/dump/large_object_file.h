/*
 * large_object_file.h
 *		The files of large objects in an archive, and the lists of them.
 */
#ifndef LARGE_OBJECT_FILE_H
#define LARGE_OBJECT_FILE_H

#include "archive/archive_dir.h"
#include "plan/large_object.h"
#include "progress/file_result.h"

/*
 * Write the objects of a group, a file each, and set their results.  Exits
 * with a message on failure.
 */
extern void large_object_files_write(PGconn *conn,
									 const LargeObjectGroup *group,
									 const ArchiveDir *archive,
									 const CompressSpec *compress,
									 FileResults *results);

/*
 * In the leader: write the lists, which are never compressed
 * (pg_backup_directory.c:_EndLO), and set their results.
 */
extern void large_object_lists_write(const LargeObjects *objects,
									 const ArchiveDir *archive,
									 FileResults *results);

#endif							/* LARGE_OBJECT_FILE_H */

/*
 * archive_name.h
 *		The names of an archive's files: how they are built, recognized, and
 *		looked up in a directory.
 *
 * The names are those of pg_dump's directory format (pg_backup_directory.c).
 * pg_pardump adds the manifest.  For toc.dat, see TOC_NAME in toc.h.
 */
#ifndef ARCHIVE_NAME_H
#define ARCHIVE_NAME_H

#include "archive/toc.h"

/* toc.dat until the archive is complete */
#define TOC_TEMP_NAME TOC_NAME ".tmp"

/* The directory of tasks within the directory of an archive (task_plan.h). */
#define ARCHIVE_TASKS_NAME "plan.tmp"

#define MANIFEST_NAME "pg_pardump_manifest.json"

/*
 * The map in a directory with the archives of all databases (cluster_map.h).
 */
#define CLUSTER_MAP_NAME "map.json"

/*
 * The names of the file with the rows of a table or a chunk, by the dump ID
 * of its entry, and of the file of a large object.  They contain the suffix
 * of the compression, which the table of contents and the lists omit.  Owned.
 */
extern char *archive_name_rows(int dump_id, CompressMethod method);
extern char *archive_name_large_object(Oid oid, CompressMethod method);

/*
 * The name of the list of large objects for an entry, in an archive of format
 * 1.minor.  Up to 1.15, there is one list for all entries.  Lists are never
 * compressed.  Owned.
 */
extern char *archive_name_object_list(int minor, int dump_id);

/*
 * Add the suffix to a name from the table of contents or from a list; owned.
 */
extern char *archive_name_compressed(const char *name, CompressMethod method);

/*
 * The first function returns the line of an object in a list, "OID NAME" and
 * a newline (_EndLO); owned.  The second one returns the name in such a line,
 * and removes the newline; borrowed.  It returns NULL if the line has another
 * form.
 */
extern char *archive_name_list_line(Oid oid);
extern char *archive_name_of_list_line(char *line);

/* Is this the name of a file of an archive? */
extern bool archive_name_is_part(const char *name);

/* Returns the compression method that the suffix of the name stands for. */
extern CompressMethod archive_name_method(const char *name);

/*
 * Does the name consist only of letters, digits, '_' and '.', and not begin
 * with '.'?  Only such a name may be part of a command of --pipe.  A shell
 * treats it as a word, even within quotes of any kind, and no program treats
 * it as an option or as the name of another directory.
 */
extern bool archive_name_is_harmless(const char *name);

/* The problem of a file with a name that cannot be used. */
#define ARCHIVE_NAME_INVALID "\"%s\" is not a valid file name in an archive"

/*
 * Open the file with this name in a table of contents or a list of large
 * objects, in the open directory dir.  Its name may also have the suffix .gz,
 * .lz4 or .zst; these are tried in this order (compress_io.c:
 * InitDiscoverCompressFileHandle).  *method is set according to the suffix.
 *
 * Returns -1 and sets *problem to a clause with the name, owned, if the file
 * cannot be opened.  errno is ENOENT if it does not exist, ELOOP if it is a
 * symbolic link, and EINVAL if it is not a regular file, or if the name could
 * lead to another directory.
 */
extern int	archive_lookup_open(int dir, const char *name,
								CompressMethod *method, const char **problem);

/* Returns the size of that file, or 0 if it does not exist. */
extern uint64 archive_lookup_bytes(int dir, const char *name);

/*
 * To be called after the error that the directory contains no table of
 * contents: if it contains the archives of all databases of a cluster, or is
 * a backup of pg_pardump_backup, print a hint about that.
 */
extern void archive_lookup_hint(const char *directory);

#endif							/* ARCHIVE_NAME_H */

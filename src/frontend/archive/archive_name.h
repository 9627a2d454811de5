/*
 * archive_name.h
 *		The names of an archive's files: how they are made, recognised, and
 *		looked up in a directory.
 *
 * They are those of pg_dump's directory format (pg_backup_directory.c), and
 * the manifest's.  toc.dat is TOC_NAME, see toc.h.
 */
#ifndef ARCHIVE_NAME_H
#define ARCHIVE_NAME_H

#include "archive/toc.h"

/* toc.dat until it is whole */
#define TOC_TEMP_NAME TOC_NAME ".tmp"

/* A directory in that of an archive that tasks are writing (task_plan.h). */
#define ARCHIVE_TASKS_NAME "plan.tmp"

#define MANIFEST_NAME "pg_pardump_manifest.json"

/* In a directory that has archives of all databases (cluster_map.h). */
#define CLUSTER_MAP_NAME "map.json"

/*
 * Of the rows of a table or a chunk, by the dump ID of its entry, and of a
 * large object; with the suffix of the compression, which the table of
 * contents and the lists leave away.  Owned.
 */
extern char *archive_name_rows(int dump_id, CompressMethod method);
extern char *archive_name_large_object(Oid oid, CompressMethod method);

/*
 * Of the list of large objects that belongs to an entry, in an archive of
 * format 1.minor: up to 1.15 there is one.  Never compressed.  Owned.
 */
extern char *archive_name_object_list(int minor, int dump_id);

/* A name of the table of contents or of a list, with the suffix; owned. */
extern char *archive_name_compressed(const char *name, CompressMethod method);

/*
 * The line of an object in a list, "OID NAME" (_EndLO), with its end; owned.
 * And the name in a line with its end, which is cut off: NULL if it is not
 * such a line, borrowed else.
 */
extern char *archive_name_list_line(Oid oid);
extern char *archive_name_of_list_line(char *line);

/* Does the name belong to a file that archives consist of? */
extern bool archive_name_is_part(const char *name);

/* The method that a file name's suffix stands for. */
extern CompressMethod archive_name_method(const char *name);

/*
 * Does the name consist only of letters, digits, '_' and '.', and begin with
 * none of the last?  Only such a name may be part of a command of --pipe: a
 * shell takes it for a word, also within quotes of any kind, and no program
 * takes it for an option or for another directory.
 */
extern bool archive_name_is_harmless(const char *name);

/* What is wrong with a file that has a name that cannot be used. */
#define ARCHIVE_NAME_INVALID "has a name that is not valid in an archive"

/*
 * Open the file that a table of contents or a list of large objects calls
 * name, in the directory that dir is open on: the file of that name, or with
 * the suffix .gz, .lz4 or .zst, in this order (compress_io.c:
 * InitDiscoverCompressFileHandle).  The suffix that it has is its method.
 *
 * -1, and *problem, if there is none, or it is not a regular file, or the
 * name could lead out of the directory.
 */
extern int	archive_lookup_open(int dir, const char *name,
								CompressMethod *method, const char **problem);

/* The size of that file; 0 if there is none. */
extern uint64 archive_lookup_bytes(int dir, const char *name);

/*
 * The directory has no table of contents, which has been told: if that is
 * because it has the archives of all databases of a cluster, hint at it.
 */
extern void archive_lookup_hint(const char *directory);

#endif							/* ARCHIVE_NAME_H */

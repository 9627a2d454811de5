/*
 * archive_name.h
 *		The names of an archive's files: how they are made, and recognised.
 *
 * They are those of pg_dump's directory format (pg_backup_directory.c), and
 * the manifest's.  toc.dat is TOC_NAME, see toc.h.
 */
#ifndef ARCHIVE_NAME_H
#define ARCHIVE_NAME_H

#include "archive/toc.h"

/* ----------
 * A table's name, as a manifest or a table of contents tells it.
 * ----------
 */

/*
 * The name of a table as SQL has it, for people; NULL stands for nothing.
 * Bytes may be wrong in any encoding.  Owned.
 */
extern char *manifest_name_table(const char *schema, const char *table);

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

#endif							/* ARCHIVE_NAME_H */

/*
 * large_object.h
 *		Large objects: which ones, in which groups, and their contents.
 */
#ifndef LARGE_OBJECT_H
#define LARGE_OBJECT_H

#include "base/fe_compat.h"

#include "archive/archive_dir.h"
#include "archive/file_result.h"
#include "session/connection.h"
#include "stream/sink.h"
#include "toc/toc.h"

/* Objects that one worker dumps in one go, one file each. */
typedef struct LargeObjectGroup
{
	const Oid  *oids;			/* borrowed from the list */
	int			n_oids;
	int			first_object;	/* its number among those of all groups */
} LargeObjectGroup;

/* One BLOBS entry: a file that lists objects. */
typedef struct LargeObjectList
{
	char	   *filename;		/* borrowed from the TOC, e.g. blobs.toc */
	Oid		   *oids;
	int			n_oids;
} LargeObjectList;

typedef struct LargeObjects
{
	LargeObjectList *lists;
	int			n_lists;
	LargeObjectGroup *groups;
	int			n_groups;
	int			n_objects;		/* of all groups together */
	uint64		est_bytes;		/* of all groups together */
} LargeObjects;

/*
 * The large objects of an archive, in groups of at most 1000.  Up to archive
 * format 1.15 one entry stands for all objects there are; from 1.16 on each
 * entry's objects are listed in the BLOB METADATA entry it depends on.
 */
extern LargeObjects *large_objects_read(PGconn *conn, const Toc *toc);

/* "5 large objects, 1001 to 1005", "1 large object, 1001"; owned. */
extern char *large_object_group_describe(const LargeObjectGroup *group);

/* Contents are read so many objects, and of each so many bytes, at a time. */
#define LARGE_OBJECT_BATCH 16
#define LARGE_OBJECT_PIECE (1024 * 1024)

/*
 * The first pieces of a batch of objects: one row each, in binary format.  If
 * one is of full length, the rest of that object is read into a sink.
 */
extern PGresult *large_objects_read_first(PGconn *conn, const Oid *oids,
										  int n_oids);
extern void large_object_read_rest(PGconn *conn, Oid oid, Sink *sink);

/*
 * Write the objects of a group to files of the archive, and set
 * their results.  Memory: 16 MiB.
 */
extern void large_object_group_dump(PGconn *conn,
									const LargeObjectGroup *group,
									const ArchiveDir *archive,
									const CompressSpec *compress,
									FileResults *results);

/*
 * Write the lists, which are never compressed (_EndLO), and
 * set their results.
 */
extern void large_object_lists_write(const LargeObjects *objects,
									 const ArchiveDir *archive,
									 FileResults *results);

#endif							/* LARGE_OBJECT_H */

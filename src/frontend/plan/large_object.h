/*
 * large_object.h
 *		Large objects: which ones, and in which groups.
 */
#ifndef LARGE_OBJECT_H
#define LARGE_OBJECT_H

#include "archive/toc.h"
#include "session/connection.h"

/*
 * This number of objects of a list is a group, the last one as many as are
 * left.
 */
#define LARGE_OBJECT_GROUP 1000

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

/*
 * The same of lists that were read elsewhere, which are taken over; est_bytes
 * is for the caller to set.
 */
extern LargeObjects *large_objects_of_lists(LargeObjectList *lists,
											int n_lists);

/* The group of an object by its number among those of all groups. */
extern int	large_objects_group_of(const LargeObjects *objects, int number);

/* "5 large objects, 1001 to 1005", "1 large object, 1001"; owned. */
extern char *large_object_group_describe(const LargeObjectGroup *group);

#endif							/* LARGE_OBJECT_H */

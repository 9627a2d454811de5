/*
 * archive_plan.h
 *		Makes a plan of an archive: what is restored, in which pieces.
 */
#ifndef ARCHIVE_PLAN_H
#define ARCHIVE_PLAN_H

#include "archive/archive_open.h"
#include "plan/dump_plan.h"

/* Where the rows of a data file are. */
typedef struct ArchiveRows
{
	const TocEntry *entry;		/* whose data it is */
	const ManifestFile *want;	/* what they should be; NULL = nobody knows */
} ArchiveRows;

typedef struct ArchivePlan
{
	DumpPlan	plan;			/* without snapshot, extension, compression */
	ArchiveRows *rows;			/* by data file, as in ChunkPlan.files */
	const TocEntry **object_lists;	/* by list of LargeObjects: whose data it
									 * is */
} ArchivePlan;

/*
 * The plan of the entries with these dump IDs, in this order.  The archive
 * must stay open while the plan is in use.  Exits with a message for a table
 * of contents that cannot be.
 */
extern ArchivePlan *archive_plan_make(const Archive *archive, const int *ids,
									  int n_ids);

#endif							/* ARCHIVE_PLAN_H */

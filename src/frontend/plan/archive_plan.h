/*
 * archive_plan.h
 *		Makes the plan of a restore from an archive: which entries, in which
 *		pieces.
 */
#ifndef ARCHIVE_PLAN_H
#define ARCHIVE_PLAN_H

#include "archive/archive_open.h"
#include "plan/dump_plan.h"

/* The location of the rows of a data file. */
typedef struct ArchiveRows
{
	const TocEntry *entry;		/* the entry with these rows */
	const ManifestFile *want;	/* their properties in the manifest; NULL =
								 * unknown */
} ArchiveRows;

/* The location of the large objects of a group. */
typedef struct ArchiveGroup
{
	const TocEntry *entry;		/* the entry with these objects */
	uint64		position;		/* see archive_objects_open_some() */
} ArchiveGroup;

typedef struct ArchivePlan
{
	DumpPlan	plan;			/* the snapshot, the extension and the
								 * compression are not set */
	ArchiveRows *rows;			/* by data file, as in ChunkPlan.files */
	int		   *shares;			/* by data file: the number of jobs that share
								 * it; 0 = one job loads it */
	bool		apart;			/* see JobRules */
	ArchiveGroup *groups;		/* by group of large objects */
} ArchivePlan;

#define ARCHIVE_SHARED_TABLES 32

/* Returns the size of a piece. */
extern uint64 archive_plan_piece_bytes(const Options *options);

/* The default size of a piece of a table that is a single file. */
#define ARCHIVE_PIECE_BYTES ((uint64) 16 * 1024 * 1024)

/*
 * Make the plan for the entries with these dump IDs, in this order.  A table
 * that is a single file, and larger in the archive than a piece, is shared by
 * all workers.  No more than ARCHIVE_SHARED_TABLES tables are shared: that
 * many keep all workers busy, and each one takes memory.
 *
 * The archive must stay open while the plan is used.  Exits with a message if
 * the table of contents is not valid.
 */
extern ArchivePlan *archive_plan_make(const Archive *archive, const int *ids,
									  int n_ids, const Options *options);

/*
 * Without a manifest, only the stored sizes of files are known.  Replace them
 * by the expected sizes of the rows, which are estimated from the beginning
 * of the largest files.  Only the progress depends on these sizes.
 */
extern void archive_plan_expect_rows(ArchivePlan *plan,
									 const Archive *archive);

/*
 * Exit with a message if the archive contains only a part of the rows of a
 * table, or masked columns, because a comparison with a database would then
 * find differences.  The hint names the option that leaves out the table.
 */
extern void archive_plan_refuse_parts(const ArchivePlan *plan,
									  const char *hint);

#endif							/* ARCHIVE_PLAN_H */

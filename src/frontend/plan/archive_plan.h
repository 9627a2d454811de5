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
	const ManifestFile *want;	/* what they should be; NULL = not known */
} ArchiveRows;

/* Where the large objects of a group are. */
typedef struct ArchiveGroup
{
	const TocEntry *entry;		/* whose data they are */
	uint64		position;		/* see archive_objects_open_some() */
} ArchiveGroup;

typedef struct ArchivePlan
{
	DumpPlan	plan;			/* without snapshot, extension, compression */
	ArchiveRows *rows;			/* by data file, as in ChunkPlan.files */
	int		   *shares;			/* by data file: how many jobs share it, 0 =
								 * it is not cut */
	bool		apart;			/* see JobRules */
	ArchiveGroup *groups;		/* by group of large objects */
} ArchivePlan;

#define ARCHIVE_SHARED_TABLES 32

/* How large the pieces are. */
extern uint64 archive_plan_piece_bytes(const Options *options);

/* A piece of a table that is whole in the archive, by default. */
#define ARCHIVE_PIECE_BYTES ((uint64) 16 * 1024 * 1024)

/*
 * The plan of the entries with these dump IDs, in this order.  Tables that
 * are whole in the archive, and take up more there than a piece, are shared
 * by as many jobs as there are workers; but no more tables than
 * ARCHIVE_SHARED_TABLES, which keep all busy, as each of them takes memory.
 * The archive must stay open while the plan is in use.  Exits with a message
 * for a table of contents that cannot be.
 */
extern ArchivePlan *archive_plan_make(const Archive *archive, const int *ids,
									  int n_ids, const Options *options);

/*
 * Without a manifest only stored bytes of files are known: make them those
 * that their rows are expected to have, by the beginnings of the largest
 * files.  Only the progress depends on it.
 */
extern void archive_plan_expect_rows(ArchivePlan *plan,
									 const Archive *archive);

/*
 * Exit with a message if the archive has parts of tables, or masked columns:
 * the database that it is to be compared with has more rows, or other values.
 */
extern void archive_plan_refuse_parts(const ArchivePlan *plan);

#endif							/* ARCHIVE_PLAN_H */

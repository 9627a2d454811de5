/*
 * index_builder.h
 *		Builds indexes while rows of other tables are still being loaded.
 *
 * A process of its own watches which tables have all their rows.  As soon as
 * one does, its indexes and the constraints that have one are built by
 * pg_restore, so many at a time as --index-jobs says, those first after which
 * most is to be built of their tables.
 */
#ifndef INDEX_BUILDER_H
#define INDEX_BUILDER_H

#include "stock/stock_pg_restore.h"
#include "target/index_log.h"
#include "target/restore_schedule.h"

typedef struct IndexBuilder IndexBuilder;

/* All that it names is borrowed. */
typedef struct IndexPlan
{
	const RestoreSchedule *schedule;
	const DumpTables *tables;	/* as the schedule numbers them */
	PgRestoreSetup setup;		/* whose options say how many there may be at
								 * a time */
	const PeerAddress *target_address;	/* to ask how far builds are */

	/* Asked in the builder's process: has this table all its rows? */
	bool		(*is_loaded) (const void *arg, int table);
	const void *arg;
} IndexPlan;

/* Start it; what the plan names outlives it.  It ends with this process. */
extern IndexBuilder *index_builder_start(const IndexPlan *plan);

/*
 * All tables have all their rows: wait until all is built, a stage of the
 * progress.  False if some could not be, which has been said.
 */
extern bool index_builder_finish(IndexBuilder *builder);

/* The same number as index_builder_built(), as it grows. */
extern const volatile int *index_builder_counter(const IndexBuilder *builder);

/* Seconds that its runs of pg_restore took, added up; so far. */
extern double index_builder_seconds(const IndexBuilder *builder);

/* When each was built: as many as index_builder_entries(). */
extern const IndexBuild *index_builder_builds(const IndexBuilder *builder);

/* Entries to build, and those of them that are; so far. */
extern int	index_builder_entries(const IndexBuilder *builder);
extern int	index_builder_built(const IndexBuilder *builder);

#endif							/* INDEX_BUILDER_H */

/*
 * index_builder.h
 *		Builds indexes while rows of other tables are still being loaded.
 *
 * A process of its own watches which tables have all their rows.  As soon as
 * one has, its workers, --index-jobs at a time, build its indexes and the
 * constraints that have one, as definition_worker.h makes definitions: those
 * first after which most is to be built of their tables.
 */
#ifndef INDEX_BUILDER_H
#define INDEX_BUILDER_H

#include "job_log/job_log.h"
#include "plan/dump_table.h"
#include "target/index_log.h"
#include "target/restore_stage.h"

typedef struct IndexBuilder IndexBuilder;

/* All that it names is borrowed. */
typedef struct IndexPlan
{
	RestoreStages *stages;
	const JobLog *log;			/* or NULL */
	const DumpTables *tables;	/* as the schedule numbers them */

	/* Asked in the builder's process: has this table all its rows? */
	bool		(*is_loaded) (const void *arg, int table);
	const void *arg;
} IndexPlan;

/* Start it; what the plan names outlives it.  It ends with this process. */
extern IndexBuilder *index_builder_start(const IndexPlan *plan);

/*
 * All tables have all their rows: wait until all is built, a stage of the
 * progress.  Errors are told and counted.  False if the builder ended before,
 * which has been said: then the rest is not built.
 */
extern bool index_builder_finish(IndexBuilder *builder);

/* What it builds, and how far it is. */
extern const IndexBuilds *index_builder_builds(const IndexBuilder *builder);

#endif							/* INDEX_BUILDER_H */

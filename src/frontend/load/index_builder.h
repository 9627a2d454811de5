/*
 * index_builder.h
 *		Builds indexes while rows of other tables are still being loaded.
 *
 * A separate process checks which tables have all their rows.  As soon as a
 * table is complete, its indexes, and constraints with an index, are built by
 * workers of this process, --index-jobs at a time, with the functions of
 * definition_worker.h.  The builds for which the most other builds of the
 * table wait come first.
 */
#ifndef INDEX_BUILDER_H
#define INDEX_BUILDER_H

#include "load/definition_worker.h"
#include "process/progress.h"

/* ----------
 * The times of each index build, for the event log and the report.
 * ----------
 */

/*
 * An index build, in shared memory: the building process writes it, and the
 * leader reads it.
 */
typedef struct IndexBuild
{
	const TocEntry *entry;		/* an index, or a constraint with an index */
	const DumpTable *table;
	int			index_job;		/* number of the worker, from 0 */
	int			together;		/* number of indexes that one job builds, and
								 * that share its times */
	volatile int64 start_us;	/* microseconds since 1970; 0 = not begun */
	volatile int64 end_us;		/* 0 = not ended, or failed */
} IndexBuild;

/* Totals of all builds so far, in shared memory. */
typedef struct IndexTotals
{
	volatile int made;			/* entries, including failed ones */
	volatile int failed;
	volatile int64 busy_us;		/* the sum of the times of all jobs */
	volatile bool came_to_end;	/* all of them have ended */
} IndexTotals;

/* All builds of a run. */
typedef struct IndexBuilds
{
	IndexBuild *builds;
	int			n;
	IndexTotals *totals;
} IndexBuilds;

/* Returns the number of builds that have succeeded so far. */
extern int	index_log_built(const IndexBuilds *builds);

/* The name of the index, qualified and quoted; owned. */
extern char *index_log_name(const IndexBuild *build);

/* ----------
 * The queue of indexes that can be built next.
 *
 * This only decides; the workers of index_builder.c build.
 *
 * A unit is the job of one worker: one entry of a large table, or all entries
 * of a small one.  Several CREATE INDEX commands can run on one table
 * concurrently, but a constraint locks its table against everything else, so
 * its unit is exclusive.
 * ----------
 */

typedef struct IndexUnit
{
	int			table;			/* index in DumpTables */
	bool		exclusive;
} IndexUnit;

typedef struct IndexQueue
{
	DefinitionJobs jobs;		/* one job per unit; those for which the most
								 * builds wait come first */
	IndexUnit  *units;			/* by job */
	int		   *tables;			/* by script entry: index in DumpTables */
	bool	   *loaded;			/* by table: is it complete?  Set by the
								 * caller */
	int		   *in_use;			/* by table: number of units being built, or
								 * -1 for an exclusive one */
} IndexQueue;

/*
 * Make a queue from the script of phase RESTORE_INDEXES, whose entries are
 * sorted by job.  No table is complete at first.  Never freed.
 */
extern IndexQueue *index_queue_make(Script *script,
									const RestoreSchedule *schedule,
									const DumpTables *tables);

/* Take a unit in order to build it.  Returns false if it must wait. */
extern bool index_queue_take(IndexQueue *queue, int no);

/* Release a unit after it was built. */
extern void index_queue_release(IndexQueue *queue, int no);

typedef struct IndexBuilder IndexBuilder;

/* The arguments of the builder.  All pointers are borrowed. */
typedef struct IndexPlan
{
	RestoreStages *stages;
	const RestoreJournal *journal;	/* or NULL */
	const DumpTables *tables;	/* in the schedule's order */

	/* Called in the builder's process: is this table complete? */
	bool		(*is_loaded) (const void *arg, int table);
	const void *arg;

	/*
	 * Adds the remaining time to the line of the stage.  Its argument is a
	 * double: the finished share of the oldest build; 0 if unknown.
	 */
	ProgressCompose add_rest;
} IndexPlan;

/*
 * Start the builder, which ends with this process.  Everything in the plan
 * must exist until then.
 */
extern IndexBuilder *index_builder_start(const IndexPlan *plan);

/*
 * Call this when all tables are complete.  Waits until all indexes are built,
 * as a stage of the progress.  Errors are reported and counted.  Returns
 * false if the builder ended early, which was reported; then the other
 * indexes are not built.
 */
extern bool index_builder_finish(IndexBuilder *builder);

/* The builds, and their progress. */
extern const IndexBuilds *index_builder_builds(const IndexBuilder *builder);

#endif							/* INDEX_BUILDER_H */

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

#include "load/definition_worker.h"
#include "process/progress.h"

/* ----------
 * When each index was built, for the event log and the report.
 * ----------
 */

/* In shared memory: set by the process that builds, read by the leader. */
typedef struct IndexBuild
{
	const TocEntry *entry;		/* an index, or a constraint that has one */
	const DumpTable *table;
	int			index_job;		/* of --index-jobs, from 0 */
	int			together;		/* as many are built by one job, and have its
								 * times */
	volatile int64 start_us;	/* microseconds since 1970; 0 = not begun */
	volatile int64 end_us;		/* 0 = not ended, or with errors */
} IndexBuild;

/* What has come of all builds so far; in shared memory. */
typedef struct IndexTotals
{
	volatile int made;			/* entries, with those that have failed */
	volatile int failed;
	volatile int64 busy_us;		/* the time of all jobs, added up */
	volatile bool came_to_end;	/* all of them were made */
} IndexTotals;

/* All that are to be built. */
typedef struct IndexBuilds
{
	IndexBuild *builds;
	int			n;
	IndexTotals *totals;
} IndexBuilds;

/* How many were built so far. */
extern int	index_log_built(const IndexBuilds *builds);

/* Its name, qualified and quoted; owned. */
extern char *index_log_name(const IndexBuild *build);

/* ----------
 * Which indexes can be built next.
 *
 * Deciding only; index_builder.c does it.
 *
 * A unit is the job of one worker: one entry of a large table, or all entries
 * of a small one.  CREATE INDEX commands of one table run side by side, but a
 * constraint locks its table against all else, so such a unit is exclusive.
 * ----------
 */

typedef struct IndexUnit
{
	int			table;			/* index in DumpTables */
	bool		exclusive;
} IndexUnit;

typedef struct IndexQueue
{
	DefinitionJobs jobs;		/* a job each unit; those first that most has
								 * to wait for */
	IndexUnit  *units;			/* by job */
	int		   *tables;			/* by script entry: index in DumpTables */
	bool	   *loaded;			/* by table: has it all its rows?  The caller
								 * sets it */
	int		   *in_use;			/* by table: units being built, or -1 for an
								 * exclusive one */
} IndexQueue;

/*
 * The script is that of RESTORE_INDEXES; its entries are put in the order of
 * the jobs.  No table is loaded yet.  Never freed.
 */
extern IndexQueue *index_queue_make(Script *script,
									const RestoreSchedule *schedule,
									const DumpTables *tables);

/* Take the unit, to be built now; false if it cannot be. */
extern bool index_queue_take(IndexQueue *queue, int no);

/* The unit is no longer being built. */
extern void index_queue_release(IndexQueue *queue, int no);

typedef struct IndexBuilder IndexBuilder;

/* All that it names is borrowed. */
typedef struct IndexPlan
{
	RestoreStages *stages;
	const RestoreJournal *journal;	/* or NULL */
	const DumpTables *tables;	/* as the schedule numbers them */

	/* Asked in the builder's process: has this table all its rows? */
	bool		(*is_loaded) (const void *arg, int table);
	const void *arg;

	/*
	 * Adds the time that is left to the stage's line.  Its argument is the
	 * share that is done, a double, of the index that has been under
	 * construction for longest; 0 if unknown.
	 */
	ProgressCompose add_rest;
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

/*
 * index_queue.h
 *		Which indexes can be built next.
 *
 * Deciding only; index_builder.c does it.
 *
 * A unit is the job of one worker: one entry of a large table, or all entries
 * of a small one.  CREATE INDEX commands of one table run side by side, but a
 * constraint locks its table against all else, so such a unit is exclusive.
 */
#ifndef INDEX_QUEUE_H
#define INDEX_QUEUE_H

#include "base/fe_compat.h"

#include "definitions/definition_jobs.h"
#include "target/restore_schedule.h"

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

#endif							/* INDEX_QUEUE_H */

/*
 * index_queue.h
 *		Which indexes can be built next.
 *
 * Deciding only; index_builder.c does it.
 *
 * A unit is what is built by one run of pg_restore: one entry of a large
 * table, or all entries of a small one; many small tables whose rows are
 * there are one batch, for one run.  CREATE INDEX commands of one table run
 * side by side, but a constraint locks its table against all else, so such a
 * unit is exclusive.
 */
#ifndef INDEX_QUEUE_H
#define INDEX_QUEUE_H

#include "base/fe_compat.h"

#include "target/restore_schedule.h"

/* A batch that has so many entries is full. */
#define INDEX_BATCH_ENTRIES 200

typedef struct IndexUnit
{
	int			table;			/* index in DumpTables */
	int			first;			/* in IndexQueue.entries */
	int			n;
	bool		small;
	bool		exclusive;
	bool		taken;
} IndexUnit;

/* For one run; the units are the queue's. */
typedef struct IndexBatch
{
	IndexUnit  *units[INDEX_BATCH_ENTRIES];
	int			n_units;
	int			n_entries;		/* of all of them */
} IndexBatch;

typedef struct IndexQueue
{
	TocEntry   *entries;		/* those first that most has to wait for;
								 * copies that borrow all their strings */
	int		   *tables;			/* by entry: index in DumpTables */
	int			n_entries;
	IndexUnit  *units;			/* in the same order */
	int			n_units;
	int			n_taken;
	int			n_begin;		/* so many at the beginning have all been
								 * taken */
	bool	   *loaded;			/* by table: has it all its rows?  The caller
								 * sets it */
	int		   *in_use;			/* by table: units being built, or -1 for an
								 * exclusive one */
} IndexQueue;

/* The entries of RESTORE_INDEXES; no table is loaded yet.  Never freed. */
extern IndexQueue *index_queue_make(const RestoreSchedule *schedule,
									const DumpTables *tables);

/*
 * Take what is to be built next; false if nothing can be built now.  full: a
 * batch of small tables that is not full is left, to become so.
 */
extern bool index_queue_take(IndexQueue *queue, IndexBatch *batch, bool full);

/* Is it of small tables? */
extern bool index_batch_is_small(const IndexBatch *batch);

/* The batch is no longer being built. */
extern void index_queue_release(IndexQueue *queue, const IndexBatch *batch);

#endif							/* INDEX_QUEUE_H */

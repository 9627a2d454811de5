/*-------------------------------------------------------------------------
 *
 * parallel_build.h
 *	  Reads the table of a new index with parallel workers.
 *
 * index_build.c uses this if the server would build the index with workers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_PARALLEL_BUILD_H
#define PARDUMP_PARALLEL_BUILD_H

#include "index/entry_store.h"
#include "index/heap_entries.h"

typedef struct ParallelBuild ParallelBuild;

/*
 * Start up to n_workers workers, and enter parallel mode.  The key is that of
 * index_key_init(), and borrowed.  Returns NULL if no worker was started, so
 * that the caller has to build the index without workers.
 */
extern ParallelBuild *parallel_build_begin(Relation heap,
										   const IndexKey *key,
										   int n_workers);

/* Return the number of workers that were started. */
extern int	parallel_build_workers(const ParallelBuild *build);

/*
 * Do the same as heap_entries_read(), together with the workers, whose sorted
 * entries are then part of the store.  Waits until all workers have ended.
 * An error of a worker is raised here.
 */
extern const char *parallel_build_read(ParallelBuild *build,
									   EntryStore *store, HeapEntries *read);

/*
 * Leave parallel mode and remove the files of the workers, after the store
 * was freed.  After an error, the end of the transaction does this.
 */
extern void parallel_build_end(ParallelBuild *build);

#endif							/* PARDUMP_PARALLEL_BUILD_H */

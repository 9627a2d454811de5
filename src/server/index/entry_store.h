/*-------------------------------------------------------------------------
 *
 * entry_store.h
 *	  Collects the entries of an index and returns them in order.
 *
 * The builder of an index (index_build.c, heap_entries.c) uses this in place
 * of the server's tuplesort.c, as the bits of entries can be sorted without a
 * comparison function.  parallel_build.c uses a store in each process.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENTRY_STORE_H
#define PARDUMP_ENTRY_STORE_H

#include "storage/fileset.h"

#include "index/index_key.h"

/* A store, which writes to temporary files when its memory is full. */
typedef struct EntryStore EntryStore;

/*
 * Create a store for the entries of a key, which is borrowed.  The store
 * allocates in CurrentMemoryContext, and uses no more memory than the limit,
 * in kB, plus about 100 kB.  entry_store_free() removes its temporary files;
 * after an error, the current resource owner does.
 */
extern EntryStore *entry_store_new(const IndexKey *key, int limit_kb);

/*
 * Add an entry, which is copied.  Entries must be added in the order of their
 * places in the table.
 */
extern void entry_store_add(EntryStore *store, const uint64 *entry);

/*
 * Sort all entries, after the last one has been added.  This and the other
 * functions can be canceled.
 */
extern void entry_store_sort(EntryStore *store);

/*
 * Return the next entry in order, or NULL at the end.  The entry is valid
 * until the next call.
 */
extern const uint64 *entry_store_next(EntryStore *store);

extern void entry_store_free(EntryStore *store);

/* ----------
 * Entries that several processes add to stores of their own, and one of them
 * merges.
 * ----------
 */

/* The sorted files of a process, in shared memory. */
typedef struct SharedRuns
{
	int			process;
	int			first;			/* the number of the first file */
	int			n;
} SharedRuns;

/*
 * Let a new store write files that other processes can open.  The process has
 * a number, which is part of the files' names.
 */
extern void entry_store_share(EntryStore *store, FileSet *files, int process);

/*
 * Sort all entries and write them to max_runs files at most.  Other processes
 * can open these files after entry_store_free(), which does not remove them.
 */
extern void entry_store_hand_over(EntryStore *store, int max_runs,
								  SharedRuns *runs);

/*
 * Sort all entries of the store that will merge those of other processes,
 * after the last one has been added.
 */
extern void entry_store_presort(EntryStore *store);

/* After that, add files that another process has handed over. */
extern void entry_store_add_runs(EntryStore *store, FileSet *files,
								 const SharedRuns *runs);

/*
 * Return the number of files that each of n_processes should hand over at
 * most, so that they can be merged at once within this limit of memory.
 */
extern int	entry_store_runs_for(int limit_kb, int n_processes);

#endif							/* PARDUMP_ENTRY_STORE_H */

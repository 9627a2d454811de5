/*-------------------------------------------------------------------------
 *
 * entry_store.h
 *	  Collects the entries of an index and returns them in order.
 *
 * The builder of an index (index_build.c, heap_entries.c) uses this in place
 * of the server's tuplesort.c, as the bits of entries can be sorted without a
 * comparison function.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENTRY_STORE_H
#define PARDUMP_ENTRY_STORE_H

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

#endif							/* PARDUMP_ENTRY_STORE_H */

/*-------------------------------------------------------------------------
 *
 * entry_store.h
 *	  The entries of an index, as they come and then in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENTRY_STORE_H
#define PARDUMP_ENTRY_STORE_H

#include "index/index_key.h"

/* Grows with the entries up to its limit, then writes to temporary files. */
typedef struct EntryStore EntryStore;

/*
 * A store in CurrentMemoryContext, for the entries of a key, that takes no
 * more memory than the limit (in kB), but for some 100 kB.  The key is
 * borrowed.  Temporary files go with the current resource owner, or with
 * entry_store_free().
 */
extern EntryStore *entry_store_new(const IndexKey *key, int limit_kb);

/* Add an entry, behind those with lower places: it is copied. */
extern void entry_store_add(EntryStore *store, const uint64 *entry);

/*
 * Sort, after the last entry was added.  Can be canceled, as can the other
 * functions.
 */
extern void entry_store_sort(EntryStore *store);

/* The next entry in order, valid up to the next call; NULL at the end. */
extern const uint64 *entry_store_next(EntryStore *store);

extern void entry_store_free(EntryStore *store);

#endif							/* PARDUMP_ENTRY_STORE_H */

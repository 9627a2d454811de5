/*-------------------------------------------------------------------------
 *
 * entry_store.h
 *	  The entries of an index, as they come and then in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENTRY_STORE_H
#define PARDUMP_ENTRY_STORE_H

/* Grows with the entries up to its limit, then writes to temporary files. */
typedef struct EntryStore EntryStore;

/*
 * A store in CurrentMemoryContext, for entries of n_words words, that takes
 * no more memory than the limit (in kB), but for some 100 kB.  Temporary
 * files go with the current resource owner, or with entry_store_free().
 */
extern EntryStore *entry_store_new(int n_words, int limit_kb);

/* Add an entry: it is copied. */
extern void entry_store_add(EntryStore *store, const uint64 *entry);

/*
 * Sort, after the last entry was added.  Can be canceled, as can the other
 * functions.
 */
extern void entry_store_sort(EntryStore *store);

/* The next entry in order, valid up to the next call; NULL at the end. */
extern const uint64 *entry_store_next(EntryStore *store);

/* How many runs were written to files; 0 if all entries are in memory. */
extern int	entry_store_runs(const EntryStore *store);

extern void entry_store_free(EntryStore *store);

#endif							/* PARDUMP_ENTRY_STORE_H */

/*-------------------------------------------------------------------------
 *
 * entry_sort.h
 *	  Sorts the entries of an index in memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENTRY_SORT_H
#define PARDUMP_ENTRY_SORT_H

/*
 * Sort n entries of n_words words each (1 to INDEX_ENTRY_WORDS), as
 * index_entry_less() compares them.  "space" has room for as many entries
 * again; what it holds afterwards means nothing.  Can be canceled.
 */
extern void entry_sort(uint64 *entries, uint64 *space, size_t n, int n_words);

#endif							/* PARDUMP_ENTRY_SORT_H */

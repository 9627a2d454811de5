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
 * index_words_less() compares them.  "space" has room for as many entries
 * again; what it holds afterwards means nothing.  Can be canceled.
 */
extern void entry_sort(uint64 *entries, uint64 *space, size_t n, int n_words);

/*
 * Sort n entries with texts by pairs of words, of which the second is where
 * an entry begins, as a number of words; the first is set here.  Entries
 * with equal keys are stored in the order of their places.
 */
extern void entry_sort_texts(const uint64 *entries, uint64 *pairs,
							 uint64 *space, size_t n);

#endif							/* PARDUMP_ENTRY_SORT_H */

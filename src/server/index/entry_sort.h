/*-------------------------------------------------------------------------
 *
 * entry_sort.h
 *	  Sorts the entries of an index in memory.
 *
 * index_key.h describes entries without texts, text_key.h those with texts.
 * entry_store.c calls these functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ENTRY_SORT_H
#define PARDUMP_ENTRY_SORT_H

/*
 * Sort n entries of n_words words each (1 to INDEX_ENTRY_WORDS) in the order
 * of index_words_less().  "space" must have room for the same number of
 * entries, and is overwritten.  Can be canceled.
 */
extern void entry_sort(uint64 *entries, uint64 *space, size_t n, int n_words);

/*
 * Sort n pairs of words, which stand for entries with texts.  The second word
 * of a pair is the position of an entry, in words from "entries"; the first
 * word is set here.  Entries with equal keys keep the order of their
 * positions, so the caller must store them in the order of their places.
 */
extern void entry_sort_texts(const uint64 *entries, uint64 *pairs,
							 uint64 *space, size_t n);

#endif							/* PARDUMP_ENTRY_SORT_H */

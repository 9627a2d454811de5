/*-------------------------------------------------------------------------
 *
 * tree_writer.h
 *	  Writes the pages of a btree index from sorted entries.
 *
 * index_build.c passes the entries that entry_store.c has sorted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TREE_WRITER_H
#define PARDUMP_TREE_WRITER_H

#include "index/heap_entries.h"

typedef struct TreeWriter TreeWriter;

/*
 * Create a writer for an empty index.  The writer and its pages are allocated
 * in CurrentMemoryContext.  All arguments are borrowed.
 */
extern TreeWriter *tree_writer_new(Relation heap, Relation index,
								   const IndexInfo *info,
								   const IndexKey *key);

/*
 * Add the next entry.  A duplicate key in a unique index raises the same
 * error as in the server's builds.  An entry that is not greater than the
 * last one is an internal error.
 */
extern void tree_writer_add(TreeWriter *writer, const uint64 *entry);

/*
 * Write the remaining pages.  Before the metapage makes the index valid, the
 * contents of its pages are compared with the rows that were read; a
 * difference raises an error.
 */
extern void tree_writer_finish(TreeWriter *writer, const HeapEntries *read);

#endif							/* PARDUMP_TREE_WRITER_H */

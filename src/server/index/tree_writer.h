/*-------------------------------------------------------------------------
 *
 * tree_writer.h
 *	  Writes a btree index of entries that come in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TREE_WRITER_H
#define PARDUMP_TREE_WRITER_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "index/heap_entries.h"
#include "index/index_key.h"

typedef struct TreeWriter TreeWriter;

/*
 * A writer for an empty index.  Made in CurrentMemoryContext, where it also
 * takes memory for pages.  All arguments are borrowed.
 */
extern TreeWriter *tree_writer_new(Relation heap, Relation index,
								   const IndexInfo *info,
								   const IndexKey *key);

/*
 * Add the next entry.  Raises the server's error for a duplicate key of a
 * unique index, and an error of its own if the entry is not behind the last
 * one.
 */
extern void tree_writer_add(TreeWriter *writer, const uint64 *entry);

/*
 * Write what is left.  Before the index becomes valid, raises an error unless
 * its pages have the rows that were read.
 */
extern void tree_writer_finish(TreeWriter *writer, const HeapEntries *read);

#endif							/* PARDUMP_TREE_WRITER_H */

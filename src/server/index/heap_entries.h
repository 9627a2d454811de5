/*-------------------------------------------------------------------------
 *
 * heap_entries.h
 *	  Reads a table and makes an index entry of each row.
 *
 * index_build.c calls this, and tree_writer.c compares the index with the
 * number and the sum of the rows that were read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_HEAP_ENTRIES_H
#define PARDUMP_HEAP_ENTRIES_H

#include "index/entry_store.h"
#include "read/heap_reader.h"

/* The number of rows that were read, and the sum of their entries. */
typedef struct HeapEntries
{
	uint64		n;
	uint64		sum;
	BlockNumber n_blocks;
} HeapEntries;

/*
 * Add an entry to the store for each live row of a table.  The table must be
 * locked against writers.  If other processes also read the table, "shared"
 * contains its blocks; otherwise it is NULL.  Only the caller knows whether
 * all shared blocks were read.
 *
 * Returns NULL, or why the server has to build the index: half a sentence,
 * which is not freed.  Reports progress, and can be canceled.  Sets few hint
 * bits, as each transaction is looked up once for all of its rows.
 */
extern const char *heap_entries_read(Relation heap, const IndexKey *key,
									 EntryStore *store, SharedBlocks *shared,
									 HeapEntries *read);

#endif							/* PARDUMP_HEAP_ENTRIES_H */

/*-------------------------------------------------------------------------
 *
 * heap_entries.h
 *	  Reads a table and makes an index entry of each row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_HEAP_ENTRIES_H
#define PARDUMP_HEAP_ENTRIES_H

#include "utils/rel.h"

#include "index/entry_store.h"
#include "index/index_key.h"

/* What was read of a table: how many rows, and the sum of their entries. */
typedef struct HeapEntries
{
	uint64		n;
	uint64		sum;
} HeapEntries;

/*
 * Add an entry for each live row of a table that is locked against writers.
 * Returns NULL, or why the server has to build the index: half a sentence,
 * not to be freed.  Sets few hint bits, as transactions are looked up once
 * for all of their rows.  Reports progress.  Can be canceled.
 */
extern const char *heap_entries_read(Relation heap, const IndexKey *key,
									 EntryStore *store, HeapEntries *read);

#endif							/* PARDUMP_HEAP_ENTRIES_H */

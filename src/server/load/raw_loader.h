/*-------------------------------------------------------------------------
 *
 * raw_loader.h
 *	  Inserts blocks of raw tuples into a table.
 *
 * read/raw_block.h describes the blocks.  function/load_function.c calls
 * this for pg_pardump_load_tuples(), with which pg_pardump copies tables
 * between servers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RAW_LOADER_H
#define PARDUMP_RAW_LOADER_H

#include "access/htup.h"
#include "utils/relcache.h"

#include "read/raw_block.h"

/* ----------
 * Reads the rows of a block of raw tuples, which may be damaged.
 * ----------
 */

typedef struct RawRows RawRows;

/* A row of a block. */
typedef struct RawRow
{
	HeapTuple	tuple;			/* its TOAST pointers are blank */
	Datum	   *values;			/* by attribute, with out-of-line values */
	bool	   *isnull;
	int			n_external;
	int		   *external;		/* attributes with out-of-line values,
								 * ascending */
} RawRow;

/*
 * Create a reader for the rows of a block, for a table with this descriptor.
 * All of its types must be portable (raw_columns_reason()), and no column
 * dropped.  Both arguments are borrowed.  Allocates in CurrentMemoryContext.
 */
extern RawRows *raw_rows_new(TupleDesc tupdesc, const RawBlock *block);

/*
 * Return the next row, or NULL at the end of the block.  The tuple is
 * allocated in CurrentMemoryContext.  Its header is complete, except for the
 * transaction and the place.  The values point into the tuple and the block;
 * all other members are valid until the next call.  Damage is an error
 * (22P03).  All values are within the tuple and the block, also their
 * compressed data, and none contains a pointer.  The contents of values are
 * not checked.
 */
extern const RawRow *raw_rows_next(RawRows *rows);

/*
 * Return why no raw tuples can be inserted into this relation, which must be
 * open and locked: half a sentence ("it has triggers"), which is not freed.
 * Returns NULL if they can be inserted.
 */
extern const char *raw_loader_reason(Relation rel);

/*
 * Insert the rows of a block into a table for which there is no such reason,
 * and which is locked in ROW EXCLUSIVE mode.  Sets the number of rows, and
 * that of their bytes before compression.  Constraints are checked, and
 * entries are added to indexes.  It is an error if the block is damaged or
 * was made for another table.  Privileges are not checked.  Neither are the
 * contents of values, so the block must come from a superuser.
 */
extern void raw_loader_insert(Relation rel, bytea *block, uint64 *n_rows,
							  uint64 *n_bytes);

#endif							/* PARDUMP_RAW_LOADER_H */

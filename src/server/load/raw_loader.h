/*-------------------------------------------------------------------------
 *
 * raw_loader.h
 *	  Inserts blocks of raw tuples (read/raw_block.h) into a table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RAW_LOADER_H
#define PARDUMP_RAW_LOADER_H

#include "access/htup.h"
#include "access/tupdesc.h"
#include "utils/relcache.h"

#include "read/raw_block.h"

/* ----------
 * The rows of a block of raw tuples, none of whose lengths is believed.
 * ----------
 */

typedef struct RawRows RawRows;

/* A row, as its bytes describe it. */
typedef struct RawRow
{
	HeapTuple	tuple;			/* out of line: blank pointers */
	Datum	   *values;			/* by attribute, also those out of line */
	bool	   *isnull;
	int			n_external;
	int		   *external;		/* attributes out of line, ascending */
} RawRow;

/*
 * Rows of a table of this descriptor, all of whose types are of those in
 * read/raw_block.h, and none of whose columns are dropped.  Both are
 * borrowed.  Allocates in CurrentMemoryContext.
 */
extern RawRows *raw_rows_new(TupleDesc tupdesc, const RawBlock *block);

/*
 * The next row; NULL at the end of the block.  Its tuple is allocated in
 * CurrentMemoryContext, and its header complete but for transaction and
 * place; its values stay where they are as long as tuple and block; the rest
 * is valid up to the next call.  Damage is an error (22P03): no value, nor
 * what is stored of one that is compressed, lies outside of tuple and block,
 * and none points anywhere else.  What is in values is not looked at.
 */
extern const RawRow *raw_rows_next(RawRows *rows);

/*
 * Why no raw tuples can be inserted into this relation, which is open and
 * locked: half a sentence ("it has triggers"), not to be freed, or NULL if
 * they can.
 */
extern const char *raw_loader_reason(Relation rel);

/*
 * Insert the rows of a block into a table for which there is no such reason,
 * locked in ROW EXCLUSIVE mode, and return how many rows and bytes, before
 * compression, that was.  Constraints are checked, and indexes kept.  A block
 * that is damaged, or made for another table, is an error.  Checks no
 * privileges.  The values in the block are not checked, so that it must come
 * from a superuser.
 */
extern void raw_loader_insert(Relation rel, bytea *block, uint64 *n_rows,
							  uint64 *n_bytes);

#endif							/* PARDUMP_RAW_LOADER_H */

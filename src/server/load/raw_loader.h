/*-------------------------------------------------------------------------
 *
 * raw_loader.h
 *	  Inserts blocks of raw tuples (raw/raw_block.h) into a table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RAW_LOADER_H
#define PARDUMP_RAW_LOADER_H

#include "postgres.h"

#include "utils/relcache.h"

/*
 * Why no raw tuples can be inserted into this relation, which is open and
 * locked: half a sentence ("it has triggers"), not to be freed, or NULL if
 * they can.
 */
extern const char *raw_loader_reason(Relation rel);

/*
 * Insert the rows of a block into a table for which there is no such reason,
 * locked in ROW EXCLUSIVE mode, and tell how many rows and bytes, before
 * compression, that was.  Constraints are checked, and indexes kept.  A block
 * that is damaged, or made for another table, is an error.  Checks no
 * privileges.  The values in the block are not checked, so that it must come
 * from a superuser.
 */
extern void raw_loader_insert(Relation rel, bytea *block, uint64 *n_rows,
							  uint64 *n_bytes);

#endif							/* PARDUMP_RAW_LOADER_H */

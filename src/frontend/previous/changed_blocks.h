/*
 * changed_blocks.h
 *		Which blocks of a database's relations may have changed.
 */
#ifndef CHANGED_BLOCKS_H
#define CHANGED_BLOCKS_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/* Changes are known by parts of this number of blocks. */
#define CHANGED_BLOCKS_PART 32

typedef struct ChangedBlocks ChangedBlocks;

/*
 * Of rows of (tablespace, file node, block, is it a limit): a change in the
 * part that begins at the block, or, as a limit, one of all blocks from there
 * on, as the relation was truncated to that, or made.  A limit of file node 0
 * is of the whole database, which was made by copying files.  Never freed.
 */
extern ChangedBlocks *changed_blocks_new(const PGresult *res);

/*
 * May any of the blocks start <= b < end of a relation's main fork have
 * changed?
 */
extern bool changed_blocks_touch(const ChangedBlocks *changes, Oid tablespace,
								 Oid filenode, BlockNumber start,
								 BlockNumber end);

#endif							/* CHANGED_BLOCKS_H */

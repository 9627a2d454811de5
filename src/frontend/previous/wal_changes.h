/*
 * wal_changes.h
 *		Which blocks are as they were when the previous archive was made, by
 *		the summaries of the write-ahead log that servers keep since 17.
 *
 * Nothing is read of such a block.  That is right if
 *
 * - it is the same history: a token that the previous run has committed after
 *   its snapshot is there.  What that snapshot saw cannot have been lost, and
 *   no copy of the cluster from before can have gone another way since;
 * - it is the same start of the server, which has logged all that it has done
 *   since then.  While it was stopped anybody could have put back files of it
 *   from before, and left summaries of what is lost with them;
 * - no change of the block was logged since a position that was taken before
 *   the previous snapshot, up to one taken after the new snapshot;
 * - all that was in progress for the previous snapshot, or in its future, had
 *   begun behind that position, so that its changes are in these summaries: a
 *   transaction that began just behind the position, and all before it, had
 *   ended.  So what is in all other blocks is decided for it;
 * - and for the new snapshot, whose xmin is not before the previous xmax.
 *
 * Blocks that are not known to be untouched are compared by fingerprints.
 */
#ifndef WAL_CHANGES_H
#define WAL_CHANGES_H

#include "libpq-fe.h"

#include "previous/changed_blocks.h"
#include "previous/previous_archive.h"
#include "previous/wal_history.h"

/*
 * Read the summaries of what was logged since the previous archive's
 * position, in a session of its own, once the new snapshot is there.  NULL,
 * and *problem, if that proves nothing.  May wait for a checkpoint.
 */
extern ChangedBlocks *wal_changes_read(PGconn *conn, const PreviousArchive *previous,
									   const WalHistory *history,
									   const char **problem);

#endif							/* WAL_CHANGES_H */

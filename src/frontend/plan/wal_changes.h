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

#include "plan/previous_archive.h"

/* ----------
 * What a dump notes of the history that it is part of, so that the next
 * one can ask which blocks have changed since.
 * ----------
 */

/* What a dump tells the next one; strings are digits, see manifest.h. */
typedef struct WalHistory
{
	const char *problem;		/* why there is none; NULL if there is one */
	char	   *token;
	char	   *lsn;			/* before the snapshot */
	char	   *timeline;
	char	   *server_start;	/* microseconds since 1970 */
	char	   *database;		/* its OID */
	char	   *xmax;			/* of the snapshot; 64 bits */
	uint64		xmin;
	uint64		xid;			/* assigned just after lsn was taken */
} WalHistory;

/*
 * Take a position, in a session without a transaction, before the snapshot;
 * waits a few seconds until the transactions in progress have ended.  Never
 * NULL, never freed.
 */
extern WalHistory *wal_history_begin(PGconn *conn);

/* The snapshot is taken, in this session's transaction. */
extern void wal_history_snapshot_taken(PGconn *conn, WalHistory *history);

/*
 * Commit the token once all rows are read, in the session that had the
 * snapshot.  NULL, or why it could not be done.
 */
extern const char *wal_history_note(PGconn *conn, const WalHistory *history);

/* ----------
 * Which blocks of a database's relations may have changed.
 * ----------
 */

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

/*
 * Read the summaries of what was logged since the previous archive's
 * position, in a session of its own, once the new snapshot is there.  NULL,
 * and *problem, if that proves nothing.  May wait for a checkpoint.
 */
extern ChangedBlocks *wal_changes_read(PGconn *conn, const PreviousArchive *previous,
									   const WalHistory *history,
									   const char **problem);

#endif							/* WAL_CHANGES_H */

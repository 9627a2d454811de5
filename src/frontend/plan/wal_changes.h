/*
 * wal_changes.h
 *		Finds blocks that have not changed since the previous archive, with
 *		the WAL summaries that servers keep from 17 on.
 *
 * An incremental dump does not read such blocks.  This is correct if all of
 * these conditions are true:
 *
 * - It is the same history: the server has a token that the previous run
 *   committed after its snapshot.  So no commit that the previous snapshot
 *   saw can have been lost, and the server is not a copy of the cluster from
 *   an earlier time.
 *
 * - The server was not restarted since, so it has logged all its changes.
 *   While it is stopped, anyone could replace files by older ones, and leave
 *   the summaries of the lost changes.
 *
 * - No change of the block was logged between a position before the previous
 *   snapshot and a position after the new one.
 *
 * - All transactions that were in progress for the previous snapshot, or
 *   began later, began after the first position, so their changes are in
 *   these summaries.  To ensure this, the previous run assigned a transaction
 *   ID just after it had read the position, and waited until this transaction
 *   and all earlier ones had ended.  So for all other blocks, the previous
 *   snapshot already sees the outcome of all changes.
 *
 * - The xmin of the new snapshot is not before the xmax of the previous one.
 *   So the new snapshot sees the same outcome.
 *
 * Blocks that may have changed are compared by fingerprints.
 */
#ifndef WAL_CHANGES_H
#define WAL_CHANGES_H

#include "plan/previous_archive.h"

/* ----------
 * What a dump notes for the next one, which then can find the blocks that
 * have changed since.
 * ----------
 */

/*
 * The members are in the manifest.  Strings consist of digits, see
 * manifest.h.
 */
typedef struct WalHistory
{
	const char *problem;		/* why there is no history, as a sentence;
								 * NULL if there is one */
	char	   *token;
	char	   *lsn;			/* position before the snapshot */
	char	   *timeline;
	char	   *server_start;	/* microseconds since 1970 */
	char	   *database;		/* OID of the database */
	char	   *xmax;			/* xmax of the snapshot; 64 bits */
	uint64		xmin;
	uint64		xid;			/* assigned just after lsn was taken */
} WalHistory;

/*
 * Read the position before the snapshot, in a session without a transaction;
 * waits a few seconds until the transactions in progress have ended.  Never
 * NULL, never freed.
 */
extern WalHistory *wal_history_begin(PGconn *conn);

/* Call this after the snapshot was taken in this session's transaction. */
extern void wal_history_snapshot_taken(PGconn *conn, WalHistory *history);

/*
 * Commit the token after all rows were read, in the session that had the
 * snapshot.  Returns NULL, or why this failed.
 */
extern const char *wal_history_note(PGconn *conn, const WalHistory *history);

/* ----------
 * The blocks of a database that may have changed.
 * ----------
 */

/* Changes are recorded for parts of this many blocks. */
#define CHANGED_BLOCKS_PART 32

typedef struct ChangedBlocks ChangedBlocks;

/*
 * Make the set from rows of (tablespace, file node, block, is it a limit).  A
 * row means a change in the part that begins with the block.  A limit means
 * that all blocks from there on have changed, because the relation was
 * truncated to that length, or created.  A limit of file node 0 means the
 * whole database, which was created by copying files.  Never freed.
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
 * Read the summaries of WAL since the previous archive's position, in a
 * separate session, after the new snapshot was taken.  Returns NULL, and sets
 * *problem, if they prove nothing.  May wait for a checkpoint.
 */
extern ChangedBlocks *wal_changes_read(PGconn *conn, const PreviousArchive *previous,
									   const WalHistory *history,
									   const char **problem);

#endif							/* WAL_CHANGES_H */

/*
 * snapshot.h
 *		Exports and imports snapshots, so that the transactions of several
 *		sessions see the same rows.
 *
 * The leader begins a transaction and exports its snapshot; workers, pg_dump
 * and sessions that replace lost ones import it.  Without this, a dump would
 * not be consistent.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include "libpq-fe.h"

#include "options/options.h"

/*
 * Begin the leader's transaction: REPEATABLE READ READ ONLY, or SERIALIZABLE
 * READ ONLY DEFERRABLE with --serializable-deferrable.  If import is not NULL
 * the transaction imports this snapshot.  Returns the name of the exported
 * snapshot, for the other sessions; owned.
 */
extern char *snapshot_begin_leader(PGconn *conn, const Options *options,
								   const char *import);

/*
 * A text that distinguishes the transaction's snapshot from other snapshots
 * with the same name, because a server that was restarted uses the same names
 * again; owned.  It contains the start time of the server, and the
 * transaction IDs that the snapshot sees as running, because a server that
 * recovers from a crash keeps its start time.
 *
 * It also contains whether the server is in recovery, because after the
 * promotion of a standby, a new session must not use a snapshot from before
 * it.  Index entries that the old primary has marked as dead reach the
 * standby in full-page images, and the snapshot may see their rows: the
 * primary does not know the standby's snapshots.  Index scans ignore these
 * marks only in transactions that began in recovery
 * (genam.c:RelationGetIndexScan()).
 */
extern char *snapshot_identity(PGconn *conn);

/*
 * From now on, in this process: a snapshot that the leader imports must have
 * this snapshot_identity(), and must have been exported by this backend
 * (session_backend()); another snapshot with the same name is an error.  The
 * identity alone is not enough on a standby, where it does not contain the
 * running transactions.
 */
extern void snapshot_expect(const char *identity, int exporter);

/*
 * Begin another transaction: REPEATABLE READ READ ONLY in the given
 * snapshot.  Returns false, without a transaction, if the exporter has ended,
 * or another snapshot has its name by now.
 */
extern bool snapshot_try_import(PGconn *conn, const char *snapshot,
								const char *identity);

/*
 * Export the transaction's snapshot.  Returns its name, which other sessions
 * can use until the transaction ends; owned.
 */
extern char *snapshot_export(PGconn *conn);

/*
 * If the server is in recovery, or after snapshot_expect(), returns a query
 * that returns a row as long as the transaction runs that exported the
 * snapshot; owned.  Otherwise NULL.  Call this function before the
 * transaction that imports the snapshot.
 *
 * On a primary, CREATE INDEX CONCURRENTLY waits for the transactions that it
 * has listed before (indexcmds.c:WaitForOlderSnapshots()).  A session that
 * imports the snapshot during this wait is not on the list.  If the exporter
 * then ends, the index becomes valid without rows that the snapshot sees, so
 * a query that uses the index is wrong.
 *
 * On a standby a session that imported a snapshot is not always protected.
 * When replay has to remove rows it lists, once for each WAL record, the
 * transactions whose xmin is old enough to see them, and waits for these or
 * cancels them (standby.c:ResolveRecoveryConflictWithSnapshot(),
 * procarray.c:GetConflictingVirtualXIDs()).  A session that imports the
 * snapshot while replay waits is not on that list, although it has the same
 * xmin: as soon as the exporter ends, replay removes the rows, and the
 * session continues to read without these rows and without an error.  The
 * exporter is on every such list if it took the snapshot itself.  So if it
 * still runs after the last row was read, nothing was removed.  An exporter
 * that has itself imported the snapshot proves nothing; the name of a
 * snapshot does not show whether it has.
 */
extern char *snapshot_exporter_query(PGconn *conn, const char *snapshot);

/*
 * Does a server of this version (PQserverVersion()) have the fixes of 12
 * November 2026 for snapshots that are exported during recovery, and for
 * those of new replication slots?
 */
extern bool snapshot_is_fixed(int version);

/*
 * The first release with these fixes of the same major, for example "18.7";
 * NULL if there is none.  The version belongs to a server without the fixes;
 * owned.
 */
extern char *snapshot_fixed_release(int version);

#endif							/* SNAPSHOT_H */

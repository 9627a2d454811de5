/*
 * snapshot.h
 *		Transactions of several sessions in one snapshot.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include "libpq-fe.h"

#include "options/options.h"

/*
 * The leader's transaction: REPEATABLE READ READ ONLY, or SERIALIZABLE READ
 * ONLY DEFERRABLE if asked for, or in the given snapshot unless that is NULL.
 * Returns the exported snapshot for the others; owned.
 */
extern char *snapshot_begin_leader(PGconn *conn, const Options *options,
								   const char *import);

/*
 * Tells the transaction's snapshot from others that are exported under the
 * same name: a server that was started again gives the same names again.
 * Made of the time of the start and of the transaction IDs that it sees as
 * running, as a server that recovers from a crash keeps the first; owned.
 */
extern char *snapshot_identity(PGconn *conn);

/*
 * From now on, in this process: a snapshot that the leader imports must be
 * this one (snapshot_identity()), not another one of the same name.
 */
extern void snapshot_expect(const char *identity);

/*
 * A worker's transaction: REPEATABLE READ READ ONLY in the given snapshot.
 * False, without a transaction, if the exporter of that is gone, or another
 * snapshot has its name by now.
 */
extern bool snapshot_try_import(PGconn *conn, const char *snapshot,
								const char *identity);

/*
 * The transaction that has just begun is to have this snapshot.  Ends by
 * session_failed() if the exporter is gone.
 */
extern void snapshot_import(PGconn *conn, const char *snapshot);

/* The name of the transaction's snapshot for others, to its end; owned. */
extern char *snapshot_export(PGconn *conn);

/*
 * Call it before the transaction that imports the snapshot.  If the server is
 * in recovery then: a query that returns a row while the transaction that
 * exported the snapshot runs; owned.  Else NULL.
 *
 * On a standby a session that imported a snapshot is not always protected.
 * When replay has to remove rows it lists, once for each WAL record, the
 * transactions whose xmin is old enough to see them, and waits for these or
 * cancels them (standby.c:ResolveRecoveryConflictWithSnapshot(),
 * procarray.c:GetConflictingVirtualXIDs()).  A session that imports the
 * snapshot while replay waits is not on that list, although it has the same
 * xmin: as soon as the exporter ends, replay removes the rows, and the
 * session reads on without them and without an error.  The exporter is on
 * every such list if it took the snapshot itself.  So if it still runs
 * after the last row was read, nothing was removed.  An exporter that has
 * itself imported the snapshot proves nothing; the name of a snapshot does
 * not show that.
 */
extern char *snapshot_exporter_query(PGconn *conn, const char *snapshot);

/*
 * Does a server of this version, as PQserverVersion() has it, have the fixes
 * of 12 November 2026 for snapshots that are exported during recovery, and
 * for those of new replication slots?
 */
extern bool snapshot_is_fixed(int version);

/*
 * Which release of its major is the first that does: "18.7"; NULL if none is.
 * The version is of a server that is not fixed; owned.
 */
extern char *snapshot_fixed_release(int version);

#endif							/* SNAPSHOT_H */

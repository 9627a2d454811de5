/*
 * snapshot_check.h
 *		Looks whether an exported snapshot has all it needs to be imported.
 *
 * Before the minor releases of 12 November 2026 a snapshot that was taken
 * during recovery, and whose list of subtransactions has overflowed, is
 * exported without the transactions that were running.  A session that
 * imports such a snapshot takes them for ended ones.  It reads wrong rows,
 * and it may set hint bits that make the standby show wrong rows to all
 * sessions, for good.
 *
 * The file of the exported snapshot shows that (shared/snapshot_text.h).  So
 * the file decides, not the version of the server: packages may have the
 * fix earlier, and what matters is the time when the snapshot was taken, and
 * not whether the server is in recovery now.
 */
#ifndef SNAPSHOT_CHECK_H
#define SNAPSHOT_CHECK_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

typedef enum SnapshotState
{
	SNAPSHOT_COMPLETE,
	SNAPSHOT_INCOMPLETE,		/* must not be imported */
	SNAPSHOT_UNREADABLE			/* the role cannot read the file */
} SnapshotState;

/*
 * Look at a snapshot that is still exported; with has_extension by the
 * extension, which the transaction of conn keeps from being dropped.  Exits
 * with a message if there is no such snapshot.
 */
extern SnapshotState snapshot_check(PGconn *conn, const char *snapshot,
									bool has_extension);

#endif							/* SNAPSHOT_CHECK_H */

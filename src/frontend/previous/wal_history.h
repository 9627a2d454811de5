/*
 * wal_history.h
 *		What a dump notes of the history that it is part of, so that the next
 *		one can ask which blocks have changed since (wal_changes.h).
 */
#ifndef WAL_HISTORY_H
#define WAL_HISTORY_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

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

#endif							/* WAL_HISTORY_H */

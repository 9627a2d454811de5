/*
 * snapshot.h
 *		Transactions of several sessions in one snapshot.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include "base/fe_compat.h"

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
 * same name: a server that was started again gives the same names anew.  Made
 * of the time of the start and of the transaction IDs that it sees as
 * running, as a server that recovers from a crash keeps the first; owned.
 */
extern char *snapshot_identity(PGconn *conn);

/*
 * A worker's transaction: REPEATABLE READ READ ONLY in the given snapshot.
 * If whoever exported that is gone, or another snapshot has its name by now,
 * the session counts as lost: there may be another one to have it from.
 */
extern void snapshot_begin_worker(PGconn *conn, const char *snapshot,
								  const char *identity);

/* The same, but returns false, without a transaction, if that is so. */
extern bool snapshot_try_import(PGconn *conn, const char *snapshot,
								const char *identity);

/* The name of the transaction's snapshot for others, to its end; owned. */
extern char *snapshot_export(PGconn *conn);

#endif							/* SNAPSHOT_H */

/*
 * reuse_file.h
 *		Takes the previous archive's file of a chunk, if its rows have not
 *		changed, instead of dumping them again.
 */
#ifndef REUSE_FILE_H
#define REUSE_FILE_H

#include "status/run.h"

/* ----------
 * Asks the extension for fingerprints of rows (doc/incremental_functions.md),
 * in a session that has the snapshot.
 *
 * All exit with a message if the server fails or its connection breaks.
 * ----------
 */

/*
 * From now on take the fingerprint of what the session reads.  False, and
 * nothing is done, if the session has other settings than the leader's.
 */
extern bool fingerprint_reads(PGconn *conn, const FingerprintSpec *spec);

/* Those of the session's last read, with len 0 if there are none. */
extern void fingerprint_last_read(PGconn *conn, FileResult *result);

typedef struct Reuse Reuse;

/*
 * What workers know of each other's finds; made before they are forked, never
 * freed.  NULL if the plan has no previous archive.
 */
extern Reuse *reuse_new(const DumpPlan *plan);

/*
 * Make the archive's file of a data file so, in a session that has the
 * snapshot and a lock on the table, and set its result.  NULL if that is
 * done; else why it must be dumped, never freed.
 */
extern const char *reuse_file(Reuse *reuse, PGconn *conn, const Run *run,
							  const DataFile *file);

#endif							/* REUSE_FILE_H */

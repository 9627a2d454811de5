/*
 * reuse_file.h
 *		Reuses files of the previous archive for chunks whose rows have not
 *		changed, in place of dumping the rows again (--incremental).
 */
#ifndef REUSE_FILE_H
#define REUSE_FILE_H

#include "status/run.h"

/* ----------
 * Fingerprints of rows from the extension (doc/incremental_functions.md), in
 * a session with the snapshot.
 *
 * All functions exit with a message if the server fails or the connection is
 * lost.
 * ----------
 */

/*
 * From now on, compute fingerprints of the rows that the session reads.
 * Returns false, and does nothing, if the session's settings differ from the
 * leader's.
 */
extern bool fingerprint_reads(PGconn *conn, const FingerprintSpec *spec);

/*
 * Set the fingerprints of the session's last read in the result.  Their len
 * is 0 if there are none.
 */
extern void fingerprint_last_read(PGconn *conn, FileResult *result);

typedef struct Reuse Reuse;

/*
 * Returns the state that workers share about changed chunks, in memory that
 * must be allocated before they are forked, and is never freed.  NULL if the
 * plan has no previous archive.
 */
extern Reuse *reuse_new(const DumpPlan *plan);

/*
 * Try to reuse the previous archive's file of this data file, and set its
 * result.  The session must have the snapshot and a lock on the table.
 * Returns NULL on success, or the reason why the rows must be dumped, which
 * is never freed.
 */
extern const char *reuse_file(Reuse *reuse, PGconn *conn, const Run *run,
							  const DataFile *file);

#endif							/* REUSE_FILE_H */

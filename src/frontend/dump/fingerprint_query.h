/*
 * fingerprint_query.h
 *		Asks the extension for fingerprints of rows (doc/extension.md), in a
 *		session that has the snapshot.
 *
 * All exit with a message if the server fails or its connection breaks.
 */
#ifndef FINGERPRINT_QUERY_H
#define FINGERPRINT_QUERY_H

#include "plan/dump_plan.h"
#include "progress/file_result.h"

/*
 * From now on take the fingerprint of what the session reads.  False, and
 * nothing is done, if the session has other settings than the leader's.
 */
extern bool fingerprint_reads(PGconn *conn, const FingerprintSpec *spec);

/* Those of the session's last read, with len 0 if there are none. */
extern void fingerprint_last_read(PGconn *conn, FileResult *result);

/* The table's columns, as the two below take them; owned. */
extern char *fingerprint_columns(PGconn *conn, const DumpTable *table);

/*
 * Has the table the definition that it had for the previous archive's file;
 * and its rows, are they what they were, and as many?
 */
extern bool fingerprint_same_definition(PGconn *conn, const DumpTable *table,
										const char *columns,
										const DataFile *file);
extern bool fingerprint_same_rows(PGconn *conn, const DumpTable *table,
								  const char *columns, const DataFile *file,
								  const FingerprintSpec *spec);

#endif							/* FINGERPRINT_QUERY_H */

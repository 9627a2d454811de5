/*
 * restore_rows.h
 *		Loads rows of an archive by one COPY.
 */
#ifndef RESTORE_ROWS_H
#define RESTORE_ROWS_H

#include "libpq-fe.h"

#include "archive/archive_member.h"
#include "plan/archive_plan.h"

/* What came of it. */
typedef struct RestoredRows
{
	uint64		rows;			/* that the server took */
	uint64		bytes;			/* of them, as text */
	char	   *error;			/* nothing was taken, for this reason; owned;
								 * NULL if all went well */
}			RestoredRows;

/*
 * Load the rows of n entries by a COPY into the table of this OID, as
 * sink_target_rows_new() has it, in the session's transaction, all or
 * nothing; *progress is the bytes so far.  The first of them may have been
 * opened, else first is NULL; it is borrowed.  After an error the transaction
 * is of no use.  A connection that is lost ends the process.
 */
extern RestoredRows restore_rows(PGconn *conn, const char *copy, Oid table,
								 Oid *later, const Archive *archive,
								 const ArchiveRows *const *rows, int n,
								 ArchiveMember *first,
								 volatile uint64 *progress);

/* How many rows these have, if the manifest says it; false if it does not. */
extern bool restore_rows_wanted(const ArchiveRows *const *sources, int n,
								uint64 *rows);

/*
 * Before a COMMIT: constraints may be checked only at the end of a
 * transaction, where they would be in the way of more than these rows.  So
 * they are checked now, if there can be any yet.  What is wrong, owned, or
 * NULL.
 */
extern char *restore_rows_settle(PGconn *conn, const Options *options);

#endif							/* RESTORE_ROWS_H */

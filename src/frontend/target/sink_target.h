/*
 * sink_target.h
 *		Sinks that write into a database.
 */
#ifndef SINK_TARGET_H
#define SINK_TARGET_H

#include "libpq-fe.h"

#include "stream/sink.h"

/*
 * Begin a COPY ... FROM STDIN, whose data is what is written to the sink.
 * sink_finish() ends it; then sink_target_rows_taken() tells how many rows
 * the server took.  statement and connection are borrowed.
 *
 * A statement has but a name, which whoever owns the schema can give to
 * another table at any time.  So sink_finish() also asks whether it is the
 * table of this OID that the COPY has locked: it is an error if not.  The
 * transaction, which must not be committed then, can have loaded other tables
 * before, but not this one.
 *
 * If the server refuses what it gets that ends the process, unless error is
 * not NULL: then *error, NULL at first, gets the server's words (owned), the
 * rest of the data is dropped, and nothing was taken.
 */
extern Sink *sink_target_rows_new(PGconn *conn, const char *statement,
								  Oid table, char **error);
extern uint64 sink_target_rows_taken(const Sink *sink);

/*
 * Instead of sink_finish(): let the server know that no more comes, for this
 * reason, and take nothing.
 */
extern void sink_target_rows_give_up(Sink *sink, const char *reason);

/*
 * Before that: empty the table, of this name and OID, in the session's
 * transaction.  Any error ends the process.
 */
extern void sink_target_truncate(PGconn *conn, const char *name, Oid table);

/*
 * Write into a large object, which must exist and be empty, in the session's
 * transaction.  error is as above.
 */
extern Sink *sink_target_object_new(PGconn *conn, Oid oid, char **error);

#endif							/* SINK_TARGET_H */

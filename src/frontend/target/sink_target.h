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
 */
extern Sink *sink_target_rows_new(PGconn *conn, const char *statement);
extern uint64 sink_target_rows_taken(const Sink *sink);

/*
 * Write into a large object, which must exist and be empty, in the session's
 * transaction.
 */
extern Sink *sink_target_object_new(PGconn *conn, Oid oid);

#endif							/* SINK_TARGET_H */

/*
 * sink_target_raw.h
 *		A sink whose blocks of raw tuples the target's extension inserts.
 */
#ifndef SINK_TARGET_RAW_H
#define SINK_TARGET_RAW_H

#include "libpq-fe.h"

#include "stream/sink.h"

/*
 * Each write is one block of pg_pardump_read() for the table of this OID,
 * whose name is for messages.  Several of them are on their way at a time.
 * In a transaction that holds the extension.  After sink_finish(),
 * sink_target_raw_taken() tells how many rows the server took.  Ends by
 * session_failed() if a block is refused.  Memory: two blocks.
 */
extern Sink *sink_target_raw_new(PGconn *conn, Oid table, const char *name);
extern uint64 sink_target_raw_taken(const Sink *sink);

#endif							/* SINK_TARGET_RAW_H */

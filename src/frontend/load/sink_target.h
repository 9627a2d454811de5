/*
 * sink_target.h
 *		Sinks that write into the target database, for copies and restores.
 */
#ifndef SINK_TARGET_H
#define SINK_TARGET_H

#include "plan/dump_plan.h"

/* ----------
 * Blocks of raw tuples, which the target's extension inserts.
 * ----------
 */

/*
 * Each write must be one block of pg_pardump_read() for the table with this
 * OID; its name is for messages.  Several blocks are on their way at a time.
 * The transaction must hold the extension.  After sink_finish(),
 * sink_target_raw_taken() returns how many rows the server has inserted.
 * Ends with session_failed() if a block is refused.  Needs memory for two
 * blocks.
 */
extern Sink *sink_target_raw_new(PGconn *conn, Oid table, const char *name);
extern uint64 sink_target_raw_taken(const Sink *sink);

/* The message if a table's name leads to another table. */
#define SINK_TARGET_OTHER_TABLE \
	"the name of the table now refers to another table"

/*
 * Begin a COPY ... FROM STDIN; its data is written to the sink.
 * sink_finish() ends it; then sink_target_rows_taken() returns how many rows
 * the server has inserted.  statement and conn are borrowed.
 *
 * A statement only contains a name, which the owner of the schema can give to
 * another table at any time.  So sink_finish() also checks whether the COPY
 * has locked the table with this OID; otherwise it is an error.  The
 * transaction must not be committed then.  It may have loaded other tables
 * before, but not this one.  If later is not NULL it gets the OID instead,
 * for sink_target_look().
 *
 * If the server refuses the data the process ends, unless error is not NULL:
 * then *error, which is NULL at first, gets the server's message (owned), the
 * rest of the data is dropped, and nothing was inserted.
 */
extern Sink *sink_target_rows_new(PGconn *conn, const char *statement,
								  Oid table, Oid *later, char **error);
extern uint64 sink_target_rows_taken(const Sink *sink);

/*
 * The check takes long if a server has room for very many locks, and there
 * may be many small tables.  So one check at the end of a job may be enough
 * for all of its tables.  If it is, this function returns an array with an
 * element for each file of the job, all InvalidOid, owned; otherwise NULL.
 *
 * One check is enough if no two of the tables have the same name, in any
 * schemas.  Schemas can be renamed in between, but a locked table keeps its
 * own name.  So a table that is locked at the end was locked by the one
 * statement with its name, and by no other.
 */
extern Oid *sink_target_later(const DumpPlan *plan, const Job *job);

/*
 * That check, before the transaction is committed: has it locked the tables
 * of the files that have an OID here?  Returns the number within the job of
 * the first file for which it has not, or -1.  An error of the query ends the
 * process.
 */
extern int	sink_target_look(PGconn *conn, const DumpPlan *plan,
							 const Job *job, const Oid *tables);

/* Report that this statement led to another table, and end the process. */
pg_noreturn extern void sink_target_refuse(const char *statement);

/*
 * Call this instead of sink_finish() to end the COPY with an error, for this
 * reason, so that nothing is inserted.
 */
extern void sink_target_rows_give_up(Sink *sink, const char *reason);

/*
 * Call this before the COPY: truncate the table with this name and OID, in
 * the session's transaction.  An error ends the process.
 */
extern void sink_target_truncate(PGconn *conn, const char *name, Oid table);

/*
 * Write into a large object, which must exist and be empty, in the session's
 * transaction.  error is used as above.
 */
extern Sink *sink_target_object_new(PGconn *conn, Oid oid, char **error);

#endif							/* SINK_TARGET_H */

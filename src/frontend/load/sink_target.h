/*
 * sink_target.h
 *		Sinks that write into a database.
 */
#ifndef SINK_TARGET_H
#define SINK_TARGET_H

#include "plan/dump_plan.h"

/* ----------
 * A sink whose blocks of raw tuples the target's extension inserts.
 * ----------
 */

/*
 * Each write is one block of pg_pardump_read() for the table of this OID,
 * whose name is for messages.  Several of them are on their way at a time.
 * In a transaction that holds the extension.  After sink_finish(),
 * sink_target_raw_taken() tells how many rows the server took.  Ends by
 * session_failed() if a block is refused.  Memory: two blocks.
 */
extern Sink *sink_target_raw_new(PGconn *conn, Oid table, const char *name);
extern uint64 sink_target_raw_taken(const Sink *sink);

/* The words for what a look at the table's name has found. */
#define SINK_TARGET_OTHER_TABLE \
	"the name of the table now refers to another table"

/*
 * Begin a COPY ... FROM STDIN, whose data is what is written to the sink.
 * sink_finish() ends it; then sink_target_rows_taken() tells how many rows
 * the server took.  statement and connection are borrowed.
 *
 * A statement has but a name, which the owner of the schema can give to
 * another table at any time.  So sink_finish() also asks whether it is the
 * table of this OID that the COPY has locked: it is an error if not.  The
 * transaction, which must not be committed then, can have loaded other tables
 * before, but not this one.  If later is not NULL it gets the OID instead,
 * for sink_target_look().
 *
 * If the server refuses what it gets that ends the process, unless error is
 * not NULL: then *error, NULL at first, gets the server's words (owned), the
 * rest of the data is dropped, and nothing was taken.
 */
extern Sink *sink_target_rows_new(PGconn *conn, const char *statement,
								  Oid table, Oid *later, char **error);
extern uint64 sink_target_rows_taken(const Sink *sink);

/*
 * To ask is dear where a server has room for very many locks, and small
 * tables are many.  So one question in a job's end may do for all of them:
 * then this returns a place for each of the job's files, all InvalidOid,
 * owned; else NULL.
 *
 * It does if no two of the tables have the same name, in any schemas.
 * Schemas can be renamed in between, but a table that is locked keeps its own
 * name: so the one that is locked at last was meant by the one statement with
 * that name, and by no other.
 */
extern Oid *sink_target_later(const DumpPlan *plan, const Job *job);

/*
 * The question, before the transaction is committed: has it locked the tables
 * of the files that have one here?  Returns the first file that is not so,
 * counted in the job, or -1.  Any error of the query ends the process.
 */
extern int	sink_target_look(PGconn *conn, const DumpPlan *plan,
							 const Job *job, const Oid *tables);

/* What it has found, of this statement: ends the process. */
pg_noreturn extern void sink_target_refuse(const char *statement);

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

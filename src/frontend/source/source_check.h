/*
 * source_check.h
 *		Looks for what would end a run while it reads, when its plan is made.
 */
#ifndef SOURCE_CHECK_H
#define SOURCE_CHECK_H

#include "plan/dump_plan.h"

/* ----------
 * Checks, before a run changes anything, for conditions that would make it
 * fail or cause damage.
 *
 * An error is for findings_report() to end the run.  A server that is not the
 * only one has a name for messages; else that is NULL.
 * ----------
 */

/* What a server lets the role ask for. */
typedef struct ServerRights
{
	bool		lsn;			/* positions in the write-ahead log */
	bool		system_identifier;
	bool		age;			/* of snapshots, by the user who connected */
	ConnectionsLeft connections;	/* besides the session that asked */
} ServerRights;

/*
 * Tell of an error, and the number of jobs that would do, if the server, the
 * database or the role allows fewer connections than there are to be workers;
 * warn if it allows just these (see
 * leader_session.c:leader_session_take_over()), or if it may be fewer, as the
 * role does not see what sessions of others are.  Others may take connections
 * meanwhile: then fewer workers do the work, if any can start.  Of servers
 * before 10 connections are not looked at.
 *
 * Warn if this is a standby whose replay does not wait for the run as long as
 * it takes.  Of the only server also warn if the database's oldest
 * transaction ID is alarmingly old, and report an error if
 * old_snapshot_threshold lets it remove rows that the run's snapshot is going
 * to see.
 */
extern ServerRights server_check(PGconn *conn, const char *name,
								 int n_workers);

/*
 * The OID of the session's database by its name; InvalidOid if that is no
 * longer its name.
 */
extern Oid	server_database(PGconn *conn);

/*
 * One of several runs: the database of this OID is meant by its name.  While
 * others had their turn it may have got another's name, which then would be
 * read twice, and the other one not at all: that is an error.
 */
extern void server_expect_database(Oid oid);
extern void server_check_database(PGconn *conn);

/* ----------
 * Checks whether tables were changed while they were not locked.
 * ----------
 */

/*
 * In all of these the tables are locked in conn's transaction, whose snapshot
 * is the dump's.  The other session has no transaction, so that it sees what
 * is there now, and is set up alike (session_set_up).  Of a definition only
 * that counts which decides what values and rows the dump's statements find:
 * name, kind, access method, the columns of the snapshot, and row security
 * where that is asked for.
 */

/*
 * When the tables are locked for the first time, and measured.  Exits with a
 * message if a table is not what it is in the snapshot, by which pg_dump has
 * described it: whether that was before pg_dump's locks, or after pg_dump had
 * ended.  So it does if a table has other files than in the snapshot, with
 * --allow-rewritten a warning: whose rows were replaced by TRUNCATE or ALTER
 * TABLE, or by REPACK (CONCURRENTLY), they are gone for the snapshot
 * (mvcc.sgml, "Caveats"), and catalogs do not tell these from VACUUM FULL.
 */
extern void table_check_snapshot(PGconn *conn, PGconn *other,
								 const DumpTables *tables,
								 const Options *options);

/*
 * When they are locked again.  Exits with a message if one of them is not
 * what it was when it was locked first: has other files, or another
 * definition than in the snapshot.
 */
extern void table_check_unchanged(PGconn *conn, PGconn *other,
								  const DumpTables *tables);

/*
 * Exit with a message if the result of dump_tables_query() has a table whose
 * name leads to another one by now.
 */
extern void table_check_names(const PGresult *res, const DumpTables *tables);

/*
 * Tell of what the plan has and the role may not read, in the leader's
 * session: errors that findings_report() then ends the run for.  What pg_dump
 * locks it may read; so these are tables to which row security applies, and
 * large objects.  Also of tables whose queries might run what others wrote.
 * And warn if the workers may find the server's lock table full.
 */
extern void source_check(PGconn *conn, const Options *options,
						 const DumpPlan *plan);

/*
 * pg_dump has failed, which an error has told.  It stops at the first table
 * that the role may not read: add the others, and what to grant, to the
 * message.
 */
extern void source_check_privileges(PGconn *conn);

#endif							/* SOURCE_CHECK_H */

/*
 * source_check.h
 *		Checks the source before a run reads rows, for conditions that would
 *		make the run fail later or read wrong rows.
 */
#ifndef SOURCE_CHECK_H
#define SOURCE_CHECK_H

#include "plan/dump_plan.h"

/* ----------
 * Checks of the server, before the run changes anything.
 *
 * findings_report() ends the run if there were errors.  name is the name of a
 * server in messages if there are several, otherwise NULL.
 * ----------
 */

/* What the role may read on the server. */
typedef struct ServerRights
{
	bool		lsn;			/* WAL positions */
	bool		system_identifier;
	bool		age;			/* the age of snapshots, as the user who
								 * connected */
	ConnectionsLeft connections;	/* besides the session that asked */
} ServerRights;

/*
 * Report an error, with the number of jobs that would work, if the server,
 * the database or the role allows fewer connections than n_workers.  Warn if
 * it allows exactly these (see leader_session.c:leader_session_take_over()),
 * or if there may be fewer, because the role cannot see the kinds of other
 * sessions.  If other programs take connections meanwhile, fewer workers do
 * the work, as long as any can start.  On servers before 10 connections are
 * not checked.
 *
 * Warn if this is a standby whose replay waits for queries only for a limited
 * time.  If it is the only server also warn if the database's oldest
 * transaction ID is alarmingly old, and report an error if
 * old_snapshot_threshold allows the server to remove rows that the run's
 * snapshot sees.
 */
extern ServerRights server_check(PGconn *conn, const char *name,
								 int n_workers);

/*
 * The OID of the session's database, found by its name; InvalidOid if the
 * database was renamed.
 */
extern Oid	server_database(PGconn *conn);

/*
 * With --all-databases: the run's database must have this OID.  If databases
 * were renamed while other runs had their turn, the name may belong to
 * another database, which would be dumped twice, and the right one not at
 * all.  server_check_database() reports this as an error.
 */
extern void server_expect_database(Oid oid);
extern void server_check_database(PGconn *conn);

/* ----------
 * Checks whether tables were changed while they were not locked.
 * ----------
 */

/*
 * In all of these functions the tables are locked in conn's transaction,
 * which has the dump's snapshot.  The other session has no transaction, so it
 * sees the current state, and has the same settings (session_set_up).  Only
 * those parts of a definition are compared that decide which values and rows
 * the dump's statements return: name, kind, access method, the columns of the
 * snapshot, and row security if it is enabled for the run.
 */

/*
 * Call this when the tables are locked for the first time, and measured.
 * Exits with a message if a table differs from what the snapshot shows, with
 * which pg_dump describes it.  It finds changes from before pg_dump's locks,
 * and from after pg_dump's end.
 *
 * It also exits if a table has other files than in the snapshot; with
 * --allow-rewritten this is a warning.  If TRUNCATE, ALTER TABLE or REPACK
 * (CONCURRENTLY) replaced the rows, the snapshot does not see the old ones
 * (mvcc.sgml, "Caveats").  Catalogs do not distinguish these commands from
 * VACUUM FULL, after which the snapshot does see them.
 */
extern void table_check_snapshot(PGconn *conn, PGconn *other,
								 const DumpTables *tables,
								 const Options *options);

/*
 * Call this when the tables are locked again.  Exits with a message if a
 * table has other files than when it was first locked, or another definition
 * than in the snapshot.
 */
extern void table_check_unchanged(PGconn *conn, PGconn *other,
								  const DumpTables *tables);

/*
 * Exits with a message if the result of dump_tables_query() contains a table
 * whose name leads to another table now.
 */
extern void table_check_names(const PGresult *res, const DumpTables *tables);

/*
 * Report, in the leader's session, what the plan contains and the role may
 * not read: tables to which row security applies, and large objects.
 * (pg_dump has locked the other tables, so the role may read them.)  Also
 * report tables whose queries might run code of other roles, and warn if the
 * server's lock table may become full.  findings_report() ends the run if
 * there were errors.
 */
extern void source_check(PGconn *conn, const Options *options,
						 const DumpPlan *plan);

/*
 * After an error message about pg_dump's failure: pg_dump stops at the first
 * table that the role may not read.  Add all such tables, and what to grant,
 * to the message.
 */
extern void source_check_privileges(PGconn *conn);

#endif							/* SOURCE_CHECK_H */

/*
 * table_check.h
 *		Checks whether tables were changed while they were not locked.
 */
#ifndef TABLE_CHECK_H
#define TABLE_CHECK_H

#include "plan/dump_table.h"
#include "session/connection.h"

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

#endif							/* TABLE_CHECK_H */

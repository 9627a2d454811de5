/*
 * table_check.h
 *		Were tables changed while nobody held a lock on them?
 */
#ifndef TABLE_CHECK_H
#define TABLE_CHECK_H

#include "connection.h"
#include "dump_table.h"

/*
 * The tables are locked in conn's transaction, whose snapshot is the dump's.
 * Exits with a message if one of them is not what it was when it was locked
 * first: has another name, other files (TRUNCATE, a rewrite), or another
 * definition (columns, row security) than in the snapshot.  A snapshot does not
 * help against these.  The other session has no transaction.
 */
extern void table_check_unchanged(PGconn *conn, PGconn *other,
								  const DumpTables *tables);

/*
 * A query for the first table whose name leads to another by now: what was read
 * by name, and not by the extension, may be of that.  Locks on tables do not keep
 * their schemas from being renamed.  Owned.
 */
extern char *table_check_names_query(PGconn *conn, const DumpTables *tables);

#endif							/* TABLE_CHECK_H */

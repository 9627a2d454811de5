/*
 * dump_table_read.h
 *		What the server knows of the tables to be dumped.
 */
#ifndef DUMP_TABLE_READ_H
#define DUMP_TABLE_READ_H

#include "libpq-fe.h"

#include "options/options.h"
#include "plan/dump_table.h"

/*
 * Describe the tables of the table of contents, which must not move while
 * the result is in use, lock them in the leader's session (waiting as
 * table_lock_take() does), make sure that what is locked is what pg_dump
 * described, and measure them.
 */
extern DumpTables *dump_tables_read(PGconn *conn, const Toc *toc,
									const Options *options, int lock_wait_ms);

/*
 * A query for their sizes, and for whether each name still leads to its table
 * (owned); and the name of the first one that leads to another table by now,
 * of its result, borrowed, or NULL.  What was read by name, and not by the
 * extension, may be of that: locks on tables do not keep their schemas from
 * being renamed.
 */
extern char *dump_tables_query(PGconn *conn, const DumpTables *tables);
extern const char *dump_tables_replaced(const PGresult *res,
										const DumpTables *tables);

/* Lock them in another session, too. */
extern void dump_tables_lock(PGconn *conn, const DumpTables *tables,
							 int wait_ms);

/*
 * Their names, or their copy_names, as an array literal in the session's
 * client encoding; owned.
 */
extern char *dump_tables_name_array(PGconn *conn, const DumpTables *tables,
									bool copy_names);

#endif							/* DUMP_TABLE_READ_H */

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

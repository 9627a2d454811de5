/*
 * read_copy.h
 *		Fetches the rows of a data file from the server.
 */
#ifndef READ_COPY_H
#define READ_COPY_H

#include "plan/chunk_plan.h"
#include "stream/sink.h"

/*
 * Write the rows of a data file, as pg_dump would read them if that is a
 * whole table (pg_dump.c:dumpTableData_copy), to the sink, in a format of
 * COPY ("text", "binary").  Returns the number of rows, and counts them in
 * *rows_so_far as they come (in binary format one more, the end).  Exits with
 * a message if the server fails or its connection breaks.  Memory: the
 * longest row and 128 kB.
 */
extern uint64 read_copy(PGconn *conn, const DumpTable *table,
						const DataFile *file, const char *format, Sink *sink,
						volatile uint64 *rows_so_far);

/*
 * Set the blocks of a data file for the statements that follow in the
 * transaction.  COPY takes no parameters, and with the numbers in its text
 * each chunk would be a statement of its own in pg_stat_statements.
 */
#define READ_COPY_START "pg_catalog.current_setting('pardump.start_block')"
#define READ_COPY_END "pg_catalog.current_setting('pardump.end_block')"
extern void read_copy_set_blocks(PGconn *conn, const DataFile *file);

/*
 * Does a data file's table, of no filter, have any row for it?  False, too,
 * where only a query could tell, which might run a stranger's functions.
 */
extern bool read_copy_has_rows(PGconn *conn, const DumpTable *table,
							   const DataFile *file);

/*
 * The beginning and the end of any COPY ... TO STDOUT: in between
 * session_wait_copy_data() is called until it returns no length; that return
 * value goes to read_copy_end(), which returns the command's row count.  Both
 * exit with a message if the server fails.
 */
extern void read_copy_begin(PGconn *conn, const char *statement);
extern uint64 read_copy_end(PGconn *conn, const char *statement, int last_len);

#endif							/* READ_COPY_H */

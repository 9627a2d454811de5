/*
 * read_rows.h
 *		Reads rows of tables and large objects from the source.
 */
#ifndef READ_ROWS_H
#define READ_ROWS_H

#include "plan/job_queue.h"

/* ----------
 * Fetches the rows of a data file from the server.
 * ----------
 */

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
 * The block range of a data file, in the statements that read it: settings of
 * the transaction.  COPY takes no parameters, and with the numbers in its
 * text each chunk would be a statement of its own in pg_stat_statements.
 */
#define READ_COPY_START "pg_catalog.current_setting('pardump.start_block')"
#define READ_COPY_END "pg_catalog.current_setting('pardump.end_block')"

/*
 * Does a data file's table, of no filter, have any row for it?  False, too,
 * where only a query could tell, which might run a stranger's functions.
 */
extern bool read_copy_has_rows(PGconn *conn, const DumpTable *table,
							   const DataFile *file);

/* ----------
 * Fetches the rows of a data file through the server's extension.
 * ----------
 */

/*
 * Write the rows of a data file in blocks, compressed on the server as the
 * text asks ("none", "zstd:1", ...), in a format of COPY ("text", "binary")
 * or as raw tuples ("raw"), to the sink.  Of raw tuples each write is a
 * block, whole; else the sink gets a stream.  Exits with a message if the
 * server fails or its connection breaks.  Returns the number of rows, and
 * adds it to *rows_so_far as they come; that must be NULL, and nothing is
 * counted, unless the blocks are plain text.  Memory: two messages, about a
 * block or the longest value.
 */
extern uint64 read_blocks(PGconn *conn, const DumpTable *table,
						  const DataFile *file, const char *compression,
						  const char *format, Sink *sink,
						  volatile uint64 *rows_so_far);

/*
 * What the server counted in the last read of this session: its rows, and
 * their bytes before compression.
 */
extern void read_blocks_count(PGconn *conn, uint64 *rows, uint64 *bytes);

/* ----------
 * Fetches the contents of large objects from the server.
 * ----------
 */

/* The objects of a group are read in their order; batch is NULL at first. */
typedef struct LargeObjectReader
{
	PGconn	   *conn;
	const LargeObjectGroup *group;
	PGresult   *batch;			/* the first pieces of the next objects */
} LargeObjectReader;

/*
 * Write the contents of the object with this number in the group to the sink.
 * Exits with a message if the server fails or its connection breaks.  Memory:
 * 16 MiB, until the last object is read.
 */
extern void read_large_object(LargeObjectReader *reader, int no, Sink *sink);

#endif							/* READ_ROWS_H */

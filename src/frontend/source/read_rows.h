/*
 * read_rows.h
 *		Reads rows of tables and large objects from the source.
 *
 * worker_session.h calls these functions, in the session of a worker or of
 * the leader; they do not lock, and do not choose how a table is read.
 */
#ifndef READ_ROWS_H
#define READ_ROWS_H

#include "plan/job_queue.h"

/* ----------
 * Rows of a data file, read with SQL.
 * ----------
 */

/*
 * Write the rows of a data file to the sink, in a format of COPY ("text",
 * "binary").  A file with a whole table is read as pg_dump reads the table
 * (pg_dump.c:dumpTableData_copy).  Returns the number of rows, and counts
 * them in *rows_so_far while they arrive (in binary format one too many, the
 * end).  Exits with a message if the server fails or its connection breaks.
 * Needs memory for the longest row and 128 kB.
 */
extern uint64 read_copy(PGconn *conn, const DumpTable *table,
						const DataFile *file, const char *format, Sink *sink,
						volatile uint64 *rows_so_far);

/*
 * The block range of a data file, in the statements that read it.  These are
 * settings of the transaction, because COPY takes no parameters, and with the
 * numbers in its text pg_stat_statements would get an entry for each chunk.
 */
#define READ_COPY_START "pg_catalog.current_setting('pardump.start_block')"
#define READ_COPY_END "pg_catalog.current_setting('pardump.end_block')"

/*
 * Does the server find any row of this data file, whose table has no filter?
 * Returns false, too, if only a query could find out that might run functions
 * of other roles.
 */
extern bool read_copy_has_rows(PGconn *conn, const DumpTable *table,
							   const DataFile *file);

/* ----------
 * Rows of a data file, read with the extension.
 * ----------
 */

/*
 * Write the rows of a data file to the sink, in a format of COPY ("text",
 * "binary") or as raw tuples ("raw").  The server compresses them as the text
 * in compression says ("none", "zstd:1", ...).  With raw tuples each write is
 * one whole block; otherwise the sink gets a stream.  Exits with a message if
 * the server fails or its connection breaks.  Returns the number of rows, and
 * adds it to *rows_so_far while rows arrive.  Unless the blocks are plain
 * text, rows_so_far must be NULL, and rows are not counted.  Needs memory for
 * two messages: about a block or the longest value.
 */
extern uint64 read_blocks(PGconn *conn, const DumpTable *table,
						  const DataFile *file, const char *compression,
						  const char *format, Sink *sink,
						  volatile uint64 *rows_so_far);

/*
 * The server's counts for the last read of this session: the number of rows,
 * and their bytes before compression.
 */
extern void read_blocks_count(PGconn *conn, uint64 *rows, uint64 *bytes);

/* ----------
 * The contents of large objects.
 * ----------
 */

/* Reads the objects of a group, in their order.  batch is NULL at first. */
typedef struct LargeObjectReader
{
	PGconn	   *conn;
	const LargeObjectGroup *group;
	PGresult   *batch;			/* first pieces of the current and next
								 * objects */
} LargeObjectReader;

/*
 * Write the contents of object number no of the group to the sink.  Exits
 * with a message if the server fails or its connection breaks.  Needs 16 MiB
 * of memory until the last object was read.
 */
extern void read_large_object(LargeObjectReader *reader, int no, Sink *sink);

#endif							/* READ_ROWS_H */

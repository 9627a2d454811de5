/*
 * copy_rows.h
 *		Fetches the rows of a data file from the server.
 */
#ifndef COPY_ROWS_H
#define COPY_ROWS_H

#include "chunk_plan.h"
#include "sink.h"

/*
 * The COPY statement that gives a data file's rows, as pg_dump would have it
 * for a whole table (pg_dump.c:dumpTableData_copy); owned.
 */
extern char *copy_statement(const DumpTable *table, const DataFile *file);

/*
 * Run a COPY ... TO STDOUT and write its rows to the sink, then what ends the
 * data in an archive.  Returns the number of rows.  Exits with a message if
 * the server fails or its connection breaks.  Memory: the longest row and 1
 * MiB.
 */
extern uint64 copy_rows(PGconn *conn, const char *statement, Sink *sink);

#endif							/* COPY_ROWS_H */

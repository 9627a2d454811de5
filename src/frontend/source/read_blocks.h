/*
 * read_blocks.h
 *		Fetches the rows of a data file through the server's extension.
 */
#ifndef READ_BLOCKS_H
#define READ_BLOCKS_H

#include "plan/chunk_plan.h"
#include "plan/server_extension.h"
#include "stream/sink.h"

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

#endif							/* READ_BLOCKS_H */

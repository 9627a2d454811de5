/*
 * server_chunks.h
 *		A table as the extension in the server would cut it.
 */
#ifndef SERVER_CHUNKS_H
#define SERVER_CHUNKS_H

#include "base/fe_compat.h"

#include "libpq-fe.h"
#include "storage/block.h"

#include "plan/dump_table.h"

typedef struct ServerChunk
{
	BlockNumber start_block;
	BlockNumber end_block;		/* exclusive; InvalidBlockNumber if the server
								 * tells none */
	uint64		est_bytes;		/* bytes to dump, estimated */
	bool		seems_empty;	/* no row was seen */
} ServerChunk;

/*
 * Ask the server for chunks of that many bytes to dump.  Nothing that it says
 * is believed yet.  *n is their number; owned.
 */
extern ServerChunk *server_chunks_read(PGconn *conn, const DumpTable *table,
									   uint64 chunk_bytes, int *n);

/* That function, or what stands for a server. */
typedef ServerChunk *(*ServerChunksCallback) (PGconn *conn,
											  const DumpTable *table,
											  uint64 chunk_bytes, int *n);

#endif							/* SERVER_CHUNKS_H */

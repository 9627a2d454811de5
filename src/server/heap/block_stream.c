/*-------------------------------------------------------------------------
 *
 * block_stream.c
 *	  Reads a range of blocks through a bulk-read ring.
 *
 * Since 17 the server's own read streams do this, with vectored and, since
 * 18, asynchronous reads (src/backend/storage/aio/read_stream.c); before, the
 * kernel sees sequential reads and reads ahead, as for a sequential scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "base/server_compat.h"
#include "heap/block_stream.h"

struct BlockStream
{
	Relation	rel;			/* borrowed */
	BufferAccessStrategy ring;
	BlockNumber next;			/* to be read */
	BlockNumber end;
#ifdef PARDUMP_READ_STREAMS
	ReadStream *stream;
#endif
};

#ifdef PARDUMP_READ_STREAMS
static BlockNumber
next_block(ReadStream *stream, void *arg, void *per_buffer_data)
{
	BlockStream *blocks = arg;

	return blocks->next < blocks->end ? blocks->next++ : InvalidBlockNumber;
}
#endif

BlockStream *
block_stream_new(Relation rel, BlockNumber start, BlockNumber end)
{
	BlockStream *blocks = palloc0(sizeof(BlockStream));

	blocks->rel = rel;
	blocks->ring = GetAccessStrategy(BAS_BULKREAD);
	blocks->next = start;
	blocks->end = end;
#ifdef PARDUMP_READ_STREAMS
	blocks->stream = read_stream_begin_relation(READ_STREAM_SEQUENTIAL,
												blocks->ring, rel,
												MAIN_FORKNUM, next_block,
												blocks, 0);
#endif
	return blocks;
}

Buffer
block_stream_next(BlockStream *blocks)
{
#ifdef PARDUMP_READ_STREAMS
	return read_stream_next_buffer(blocks->stream, NULL);
#else
	if (blocks->next >= blocks->end)
		return InvalidBuffer;

	return ReadBufferExtended(blocks->rel, MAIN_FORKNUM, blocks->next++,
							  RBM_NORMAL, blocks->ring);
#endif
}

void
block_stream_free(BlockStream *blocks)
{
#ifdef PARDUMP_READ_STREAMS
	read_stream_end(blocks->stream);
#endif
	FreeAccessStrategy(blocks->ring);
	pfree(blocks);
}

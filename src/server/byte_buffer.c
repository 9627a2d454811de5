/*-------------------------------------------------------------------------
 *
 * byte_buffer.c
 *	  The growing block of COPY's output that encoders write to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "byte_buffer.h"

void
byte_buffer_init(ByteBuffer *buf, Size size)
{
	buf->data = MemoryContextAllocHuge(CurrentMemoryContext, size);
	buf->len = 0;
	buf->size = size;
}

void
byte_buffer_enlarge(ByteBuffer *buf, Size more)
{
	Size		size = buf->size;

	if (more > MaxAllocHugeSize / 2 - buf->len)
		elog(ERROR, "block of rows would become too large");
	while (size - buf->len < more)
		size *= 2;
	buf->data = repalloc_huge(buf->data, size);
	buf->size = size;
}

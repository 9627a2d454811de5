/*-------------------------------------------------------------------------
 *
 * byte_buffer.c
 *	  Allocates and enlarges the buffer to which encoders write COPY's output.
 *
 * byte_buffer.h explains the buffer.  Its functions are inlined into the
 * encoders; this file contains only the ones that are called rarely: when a
 * buffer is created or too small, and when a value is too long.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "bytes/byte_buffer.h"

void
byte_buffer_init(ByteBuffer *buf, Size size)
{
	buf->data = MemoryContextAllocHuge(CurrentMemoryContext, size);
	buf->len = 0;
	buf->size = size;
	buf->limit = MaxAllocHugeSize / 2;
}

void
byte_buffer_value_too_long(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("a value is too long for COPY"),
			 errdetail("COPY would write more than %zu bytes.",
					   (Size) MAX_VALUE_BYTES)));
}

char *
byte_buffer_enlarge(ByteBuffer *buf, char *to, Size more)
{
	Size		len = to - buf->data;
	Size		size = buf->size;

	if (len > buf->limit)
		byte_buffer_value_too_long();
	if (more > MaxAllocHugeSize / 2 - len)
		elog(ERROR, "block of rows would become too large");
	while (size - len < more)
		size *= 2;

	/*
	 * Do not grow far beyond the limit, so that a value that exceeds it runs
	 * out of room soon and is refused by the next call.
	 */
	if (size > buf->limit)
		size = Max(len + more, buf->limit);
	/* "to" points into the old block, so the result is made from "len" */
	buf->data = repalloc_huge(buf->data, size);
	buf->size = size;
	return buf->data + len;
}

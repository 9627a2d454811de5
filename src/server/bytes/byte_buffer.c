/*-------------------------------------------------------------------------
 *
 * byte_buffer.c
 *	  The growing block of COPY's output that encoders write to.
 *
 * Encoders write in place and reserve room as they go.  Only what is needed
 * where the room does not suffice is here; the rest is inlined.
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
	/* so that a value that passes the limit soon comes here again */
	if (size > buf->limit)
		size = Max(len + more, buf->limit);
	/* "to" points into the old block: its place is known by len */
	buf->data = repalloc_huge(buf->data, size);
	buf->size = size;
	return buf->data + len;
}

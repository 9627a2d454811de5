/*-------------------------------------------------------------------------
 *
 * text_buffer.c
 *	  The growing block of COPY text that encoders write to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "text_buffer.h"

void
text_buffer_init(TextBuffer *buf, Size size)
{
	buf->data = MemoryContextAllocHuge(CurrentMemoryContext, size);
	buf->len = 0;
	buf->size = size;
}

void
text_buffer_enlarge(TextBuffer *buf, Size more)
{
	Size		size = buf->size;

	if (more > MaxAllocHugeSize / 2 - buf->len)
		elog(ERROR, "block of text would become too large");
	while (size - buf->len < more)
		size *= 2;
	buf->data = repalloc_huge(buf->data, size);
	buf->size = size;
}

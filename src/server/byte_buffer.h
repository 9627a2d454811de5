/*-------------------------------------------------------------------------
 *
 * byte_buffer.h
 *	  The growing block of COPY's output that encoders write to.
 *
 * Unlike StringInfo it may pass 1 GB, keeps no terminating zero, and lets an
 * encoder write in place: reserve an upper bound, write, commit what was used.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_BYTE_BUFFER_H
#define PARDUMP_BYTE_BUFFER_H

#include "postgres.h"

typedef struct ByteBuffer
{
	char	   *data;
	Size		len;			/* bytes in use */
	Size		size;			/* bytes allocated */
} ByteBuffer;

/* A buffer in CurrentMemoryContext, which must outlive it. */
extern void byte_buffer_init(ByteBuffer *buf, Size size);

/* Make room for "more" bytes after those in use; out of memory is an error. */
extern void byte_buffer_enlarge(ByteBuffer *buf, Size more);

/*
 * The place of the next bytes, with room for at least "more" of them.  Valid
 * up to the next call.
 */
static inline char *
byte_buffer_reserve(ByteBuffer *buf, Size more)
{
	if (unlikely(buf->size - buf->len < more))
		byte_buffer_enlarge(buf, more);
	return buf->data + buf->len;
}

/* What was written to the reserved place ends here. */
static inline void
byte_buffer_commit(ByteBuffer *buf, const char *end)
{
	Assert(end >= buf->data + buf->len && end <= buf->data + buf->size);
	buf->len = end - buf->data;
}

static inline void
byte_buffer_append(ByteBuffer *buf, const char *data, Size len)
{
	memcpy(byte_buffer_reserve(buf, len), data, len);
	buf->len += len;
}

static inline void
byte_buffer_append_char(ByteBuffer *buf, char c)
{
	*byte_buffer_reserve(buf, 1) = c;
	buf->len++;
}

#endif							/* PARDUMP_BYTE_BUFFER_H */

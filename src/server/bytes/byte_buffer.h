/*-------------------------------------------------------------------------
 *
 * byte_buffer.h
 *	  The growing block of COPY's output that encoders write to.
 *
 * Unlike StringInfo it may pass 1 GB, keeps no terminating zero, and lets an
 * encoder write in place: reserve an upper bound, write, commit what was
 * used.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_BYTE_BUFFER_H
#define PARDUMP_BYTE_BUFFER_H

#include "postgres.h"

#include "utils/memutils.h"

/*
 * A longer value could not be loaded: COPY FROM's lines and values end there.
 */
#define MAX_VALUE_BYTES MaxAllocSize

typedef struct ByteBuffer
{
	char	   *data;
	Size		len;			/* bytes in use */
	Size		size;			/* bytes allocated */
	Size		limit;			/* where the value being written must end */
} ByteBuffer;

/* A buffer in CurrentMemoryContext, which must outlive it. */
extern void byte_buffer_init(ByteBuffer *buf, Size size);

/*
 * Make room for "more" bytes after those in use.  Out of memory is an error,
 * and so is a value that has already become too long.
 */
extern void byte_buffer_enlarge(ByteBuffer *buf, Size more);

/* Raise the error for a value that would pass MAX_VALUE_BYTES. */
extern void byte_buffer_value_too_long(void);

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

/*
 * Between these two calls one value is written, which may have no more than
 * MAX_VALUE_BYTES.  It is looked at as it grows, since a damaged one may be
 * made to go on without end.
 */
static inline void
byte_buffer_begin_value(ByteBuffer *buf)
{
	buf->limit = buf->len + MAX_VALUE_BYTES;
}

static inline void
byte_buffer_end_value(ByteBuffer *buf)
{
	if (unlikely(buf->len > buf->limit))
		byte_buffer_value_too_long();
	buf->limit = MaxAllocHugeSize / 2;
}

#endif							/* PARDUMP_BYTE_BUFFER_H */

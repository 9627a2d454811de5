/*-------------------------------------------------------------------------
 *
 * byte_buffer.h
 *	  The growing block of COPY's output that encoders write to.
 *
 * Unlike StringInfo it may pass 1 GB, keeps no terminating zero, and is
 * written in place.  The place of the next byte is not a member: the writer
 * hands it from function to function, each of which returns the place behind
 * what it wrote, so that it stays in a register.  It begins as
 * byte_buffer_place() and ends in byte_buffer_commit().
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_BYTE_BUFFER_H
#define PARDUMP_BYTE_BUFFER_H

#include "port/pg_bswap.h"
#include "utils/memutils.h"

/* ----------
 * Writes integers in network byte order, as COPY's binary format has them.
 *
 * Each put_...() writes at "p", which need not be aligned, and returns the
 * end of what it wrote.
 * ----------
 */

static inline char *
put_network_16(char *p, uint16 n)
{
	n = pg_hton16(n);
	memcpy(p, &n, sizeof(n));
	return p + sizeof(n);
}

static inline char *
put_network_32(char *p, uint32 n)
{
	n = pg_hton32(n);
	memcpy(p, &n, sizeof(n));
	return p + sizeof(n);
}

static inline char *
put_network_64(char *p, uint64 n)
{
	n = pg_hton64(n);
	memcpy(p, &n, sizeof(n));
	return p + sizeof(n);
}

/*
 * A longer value could not be loaded: COPY FROM's lines and values end there.
 */
#define MAX_VALUE_BYTES MaxAllocSize

typedef struct ByteBuffer
{
	char	   *data;
	Size		len;			/* bytes in use, those written since the last
								 * commit not among them */
	Size		size;			/* bytes allocated */
	Size		limit;			/* where the last value must end */
} ByteBuffer;

/* A buffer in CurrentMemoryContext, which must outlive it. */
extern void byte_buffer_init(ByteBuffer *buf, Size size);

/*
 * Make room for "more" bytes at "to", and return where that is now.  Out of
 * memory is an error, and so is a value that has already become too long.
 */
extern char *byte_buffer_enlarge(ByteBuffer *buf, char *to, Size more);

/* Raise the error for a value that would pass MAX_VALUE_BYTES. */
extern void byte_buffer_value_too_long(void);

/* Where the bytes in use end. */
static inline char *
byte_buffer_place(const ByteBuffer *buf)
{
	return buf->data + buf->len;
}

/* Take the bytes up to "to" as written. */
static inline void
byte_buffer_commit(ByteBuffer *buf, const char *to)
{
	Assert(to >= buf->data && to <= buf->data + buf->size);
	buf->len = to - buf->data;
}

/*
 * The place "to", with room for at least "more" bytes.  The buffer may have
 * moved for it, and every other place in it with it.
 */
static inline char *
byte_buffer_reserve(ByteBuffer *buf, char *to, Size more)
{
	Assert(to >= buf->data && to <= buf->data + buf->size);
	if (unlikely((Size) (buf->data + buf->size - to) < more))
		return byte_buffer_enlarge(buf, to, more);
	return to;
}

static inline char *
byte_buffer_append(ByteBuffer *buf, char *to, const char *data, Size len)
{
	to = byte_buffer_reserve(buf, to, len);
	memcpy(to, data, len);
	return to + len;
}

static inline char *
byte_buffer_append_char(ByteBuffer *buf, char *to, char c)
{
	to = byte_buffer_reserve(buf, to, 1);
	*to = c;
	return to + 1;
}

/*
 * Between these two calls one value is written, which may have no more than
 * MAX_VALUE_BYTES.  It is looked at as it grows, since a damaged one may be
 * made to go on without end.
 */
static inline void
byte_buffer_begin_value(ByteBuffer *buf, const char *to)
{
	buf->limit = to - buf->data + MAX_VALUE_BYTES;
}

static inline void
byte_buffer_end_value(const ByteBuffer *buf, const char *to)
{
	if (unlikely((Size) (to - buf->data) > buf->limit))
		byte_buffer_value_too_long();
}

#endif							/* PARDUMP_BYTE_BUFFER_H */

/*-------------------------------------------------------------------------
 *
 * byte_buffer.h
 *	  The growing buffer to which encoders write COPY's output.
 *
 * read/chunk_reader.c owns the buffers, and the encoders in types/ write to
 * them.  A StringInfo would not do: it cannot exceed 1 GB, while a block of
 * rows that ends with a long value can.  Also, appending to a StringInfo
 * stores its length and a terminating zero each time.
 *
 * Encoders write in place, therefore.  The place of the next byte is not a
 * member of the struct, but an argument and the result of each function that
 * writes: it returns the place after the bytes that it wrote.  So the place
 * stays in a register.  The writer of a row gets the first place from
 * byte_buffer_place() and passes the last one to byte_buffer_commit().
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_BYTE_BUFFER_H
#define PARDUMP_BYTE_BUFFER_H

#include "port/pg_bswap.h"
#include "utils/memutils.h"

/* ----------
 * Writes integers in network byte order, as in COPY's binary format.
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
 * The longest value that is written.  A longer one could not be loaded, as
 * COPY FROM reads lines and values into a StringInfo of at most this size.
 */
#define MAX_VALUE_BYTES MaxAllocSize

typedef struct ByteBuffer
{
	char	   *data;
	Size		len;			/* bytes in use, without those written since
								 * the last commit */
	Size		size;			/* bytes allocated */
	Size		limit;			/* offset at which the last value must end */
} ByteBuffer;

/* Initialize a buffer.  Its memory belongs to CurrentMemoryContext. */
extern void byte_buffer_init(ByteBuffer *buf, Size size);

/*
 * Make room for "more" bytes at "to", and return the new address of that
 * place.  It is an error if the current value is too long already.
 */
extern char *byte_buffer_enlarge(ByteBuffer *buf, char *to, Size more);

/* Raise the error for a value that would pass MAX_VALUE_BYTES. */
extern void byte_buffer_value_too_long(void);

/* Return the end of the bytes in use, where the next byte is written. */
static inline char *
byte_buffer_place(const ByteBuffer *buf)
{
	return buf->data + buf->len;
}

/* The bytes up to "to" are in use from now on. */
static inline void
byte_buffer_commit(ByteBuffer *buf, const char *to)
{
	Assert(to >= buf->data && to <= buf->data + buf->size);
	buf->len = to - buf->data;
}

/*
 * Make room for at least "more" bytes at "to", and return the address of that
 * place.  This may move the buffer, and other pointers into it are invalid
 * then.
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
 * Between these two calls one value is written.  A value of more than
 * MAX_VALUE_BYTES is an error.  byte_buffer_enlarge() also compares the
 * length while the value grows, since a damaged value could otherwise fill
 * all memory.
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

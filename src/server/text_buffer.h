/*-------------------------------------------------------------------------
 *
 * text_buffer.h
 *	  The growing block of COPY text that encoders write to.
 *
 * Unlike StringInfo it may pass 1 GB, keeps no terminating zero, and lets an
 * encoder write in place: reserve an upper bound, write, commit what was used.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TEXT_BUFFER_H
#define PARDUMP_TEXT_BUFFER_H

#include "postgres.h"

typedef struct TextBuffer
{
	char	   *data;
	Size		len;			/* bytes in use */
	Size		size;			/* bytes allocated */
} TextBuffer;

/* A buffer in CurrentMemoryContext, which must outlive it. */
extern void text_buffer_init(TextBuffer *buf, Size size);

/* Make room for "more" bytes after those in use; out of memory is an error. */
extern void text_buffer_enlarge(TextBuffer *buf, Size more);

/*
 * The place of the next bytes, with room for at least "more" of them.  Valid
 * up to the next call.
 */
static inline char *
text_buffer_reserve(TextBuffer *buf, Size more)
{
	if (unlikely(buf->size - buf->len < more))
		text_buffer_enlarge(buf, more);
	return buf->data + buf->len;
}

/* What was written to the reserved place ends here. */
static inline void
text_buffer_commit(TextBuffer *buf, const char *end)
{
	Assert(end >= buf->data + buf->len && end <= buf->data + buf->size);
	buf->len = end - buf->data;
}

static inline void
text_buffer_append(TextBuffer *buf, const char *data, Size len)
{
	memcpy(text_buffer_reserve(buf, len), data, len);
	buf->len += len;
}

static inline void
text_buffer_append_char(TextBuffer *buf, char c)
{
	*text_buffer_reserve(buf, 1) = c;
	buf->len++;
}

#endif							/* PARDUMP_TEXT_BUFFER_H */

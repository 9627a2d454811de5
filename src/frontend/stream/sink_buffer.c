/*
 * sink_buffer.c
 *		The end of a chain: memory, for what must be whole before it goes on.
 */
#include "base/fe_compat.h"

#include "stream/sink_buffer.h"

typedef struct BufferSink
{
	Sink		base;
	PQExpBuffer buffer;			/* borrowed */
} BufferSink;

static void
sink_buffer_write(Sink *sink, const void *data, size_t len)
{
	appendBinaryPQExpBuffer(((BufferSink *) sink)->buffer, data, len);
}

static void
sink_buffer_finish(Sink *sink)
{
	if (PQExpBufferBroken(((BufferSink *) sink)->buffer))
		pg_fatal("out of memory");
}

static void
sink_buffer_free(Sink *sink)
{
	free(sink);
}

static const SinkOps sink_buffer_ops = {
	.write = sink_buffer_write,
	.finish = sink_buffer_finish,
	.free = sink_buffer_free,
};

Sink *
sink_buffer_new(PQExpBuffer buffer)
{
	BufferSink *sink = pg_malloc0(sizeof(BufferSink));

	sink->base.ops = &sink_buffer_ops;
	sink->buffer = buffer;
	return &sink->base;
}

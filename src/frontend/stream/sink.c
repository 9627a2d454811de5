/*
 * sink.c
 *		What all chains of sinks have.
 */
#include "base/fe_compat.h"

#include "stream/sink.h"

uint64
sink_stored_bytes(const Sink *sink)
{
	while (sink->next)
		sink = sink->next;
	return sink->bytes_in;
}

void
sink_write_buffer(Sink *sink, PQExpBuffer buf)
{
	if (PQExpBufferBroken(buf))
		pg_fatal("out of memory");
	sink_write(sink, buf->data, buf->len);
	resetPQExpBuffer(buf);
}

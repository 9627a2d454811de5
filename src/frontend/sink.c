/*
 * sink.c
 *		What all chains of sinks have.
 */
#include "fe_compat.h"

#include "sink.h"

uint64
sink_stored_bytes(const Sink *sink)
{
	while (sink->next)
		sink = sink->next;
	return sink->bytes_in;
}

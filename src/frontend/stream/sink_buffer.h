/*
 * sink_buffer.h
 *		The end of a chain: memory, for what must be whole before it goes on.
 */
#ifndef SINK_BUFFER_H
#define SINK_BUFFER_H

#include "stream/sink.h"

/* The buffer is borrowed: it must be there until the sink is finished. */
extern Sink *sink_buffer_new(PQExpBuffer buffer);

#endif							/* SINK_BUFFER_H */

/*
 * sink.h
 *		Where the bytes of one archive file go: a chain of sinks, each handing
 *		what it made to the next, the last one writing it somewhere.
 *
 * A sink is opened, written to any number of times, finished once, and freed.
 * All operations exit with a message on failure: a data file that cannot be
 * written whole ends the run.
 */
#ifndef SINK_H
#define SINK_H

#include "base/fe_compat.h"

#include "pqexpbuffer.h"

typedef struct Sink Sink;

typedef struct SinkOps
{
	/* Take len bytes; they may be kept back until finish(). */
	void		(*write) (Sink *sink, const void *data, size_t len);

	/*
	 * Pass on what is kept back, complete the format, finish the next sink.
	 */
	void		(*finish) (Sink *sink);

	/* Free this sink and the next ones, finished or not. */
	void		(*free) (Sink *sink);
} SinkOps;

/* Base of every sink: the first member of its struct. */
struct Sink
{
	const SinkOps *ops;
	Sink	   *next;			/* owned; NULL in the last sink */
	uint64		bytes_in;		/* taken so far, counted by sink_write() */
};

static inline void
sink_write(Sink *sink, const void *data, size_t len)
{
	sink->bytes_in += len;
	sink->ops->write(sink, data, len);
}

static inline void
sink_finish(Sink *sink)
{
	sink->ops->finish(sink);
}

static inline void
sink_free(Sink *sink)
{
	sink->ops->free(sink);
}

/*
 * Take what is in the buffer, and empty it.  Exits if it ran out of memory.
 */
extern void sink_write_buffer(Sink *sink, PQExpBuffer buf);

/* The bytes that reached the file, for a chain that begins with this sink. */
extern uint64 sink_stored_bytes(const Sink *sink);

#endif							/* SINK_H */

/*
 * sink_tap.c
 *		Counts what flows by, where other processes see it, and its checksum.
 */
#include "base/fe_compat.h"

#include "stream/sink_tap.h"

typedef struct TapSink
{
	Sink		base;
	volatile uint64 *counter;	/* borrowed */
	pg_checksum_context *checksum;	/* borrowed, or NULL */
} TapSink;

static void
sink_tap_write(Sink *sink, const void *data, size_t len)
{
	TapSink    *tap = (TapSink *) sink;

	*tap->counter += len;
	if (tap->checksum && pg_checksum_update(tap->checksum, data, len) < 0)
		pg_fatal("could not compute a checksum");
	sink_write(sink->next, data, len);
}

static void
sink_tap_finish(Sink *sink)
{
	sink_finish(sink->next);
}

static void
sink_tap_free(Sink *sink)
{
	sink_free(sink->next);
	free(sink);
}

static const SinkOps sink_tap_ops = {
	.write = sink_tap_write,
	.finish = sink_tap_finish,
	.free = sink_tap_free,
};

Sink *
sink_tap_new(Sink *next, volatile uint64 *counter,
			 pg_checksum_context *checksum)
{
	TapSink    *tap = pg_malloc0(sizeof(TapSink));

	tap->base.ops = &sink_tap_ops;
	tap->base.next = next;
	tap->counter = counter;
	tap->checksum = checksum;
	return &tap->base;
}

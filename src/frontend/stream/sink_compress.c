/*
 * sink_compress.c
 *		Compresses what it is given, for the next sink.
 */
#include "base/fe_compat.h"

#include "shared/block_compress.h"

#include "stream/sink_compress.h"

typedef struct CompressSink
{
	Sink		base;
	CompressSpec spec;
	BlockCompressor *compressor;
	void	   *out;
} CompressSink;

/*
 * A process writes many files, most of them small, with one method: what the
 * last one used waits here for the next.
 */
static CompressSink *spare;

static void
compress(CompressSink *sink, const void *data, size_t len, bool last)
{
	ssize_t		made;

	block_compressor_feed(sink->compressor, data, len, last);
	while ((made = block_compressor_fetch(sink->compressor, sink->out)) > 0)
		sink_write(sink->base.next, sink->out, made);
	if (made < 0)
		pg_fatal("could not compress data: %s",
				 block_compressor_error(sink->compressor));
}

static void
sink_compress_write(Sink *sink, const void *data, size_t len)
{
	compress((CompressSink *) sink, data, len, false);
}

static void
sink_compress_finish(Sink *sink)
{
	compress((CompressSink *) sink, NULL, 0, true);
	sink_finish(sink->next);
}

static void
sink_compress_free(Sink *sink)
{
	CompressSink *compress_sink = (CompressSink *) sink;

	sink_free(sink->next);
	if (spare == NULL)
	{
		block_compressor_reset(compress_sink->compressor);
		spare = compress_sink;
		return;
	}
	block_compressor_free(compress_sink->compressor);
	free(compress_sink->out);
	free(compress_sink);
}

static const SinkOps sink_compress_ops = {
	.write = sink_compress_write,
	.finish = sink_compress_finish,
	.free = sink_compress_free,
};

Sink *
sink_compress_new(Sink *next, const CompressSpec *spec)
{
	CompressSink *sink;

	if (spare && compress_spec_equal(spec, &spare->spec))
	{
		sink = spare;
		spare = NULL;
		sink->base.next = next;
		sink->base.bytes_in = 0;
		return &sink->base;
	}

	sink = pg_malloc0(sizeof(CompressSink));
	sink->base.ops = &sink_compress_ops;
	sink->base.next = next;
	sink->compressor = block_compressor_new(spec);
	if (sink->compressor == NULL)
		pg_fatal("could not initialize compression with \"%s\"",
				 compress_method_name(spec->method));
	sink->out = pg_malloc(block_compressor_out_bytes(sink->compressor));
	sink->spec = *spec;
	return &sink->base;
}

/*
 * sink_gzip.c
 *		gzip by libdeflate: one member for every block of input.
 *
 * libdeflate compresses whole buffers only, so the file is a sequence of gzip
 * members (RFC 1952, section 2.2), which zlib's gzread() and so every
 * pg_restore reads as one stream.
 */
#include "fe_compat.h"

#include <libdeflate.h>

#include "sink.h"

/* Large enough that a member's header and fresh window cost nothing. */
#define MEMBER_BYTES ((size_t) 1024 * 1024)

typedef struct GzipSink
{
	Sink		base;
	struct libdeflate_compressor *compressor;
	char	   *in;				/* MEMBER_BYTES */
	size_t		in_used;
	char	   *out;
	size_t		out_size;
	bool		any_member;
} GzipSink;

static void
write_member(GzipSink *gzip, const void *data, size_t len)
{
	size_t		out_len;

	out_len = libdeflate_gzip_compress(gzip->compressor, data, len,
									   gzip->out, gzip->out_size);
	if (out_len == 0)
		pg_fatal("could not compress data: %s", "gzip block exceeds its bound");
	sink_write(gzip->base.next, gzip->out, out_len);
	gzip->any_member = true;
}

static void
sink_gzip_write(Sink *sink, const void *data, size_t len)
{
	GzipSink   *gzip = (GzipSink *) sink;
	const char *pos = data;

	while (len > 0)
	{
		size_t		part = Min(len, MEMBER_BYTES - gzip->in_used);

		if (part == MEMBER_BYTES)
			write_member(gzip, pos, part);	/* no copy for large input */
		else
		{
			memcpy(gzip->in + gzip->in_used, pos, part);
			gzip->in_used += part;
			if (gzip->in_used == MEMBER_BYTES)
			{
				write_member(gzip, gzip->in, gzip->in_used);
				gzip->in_used = 0;
			}
		}
		pos += part;
		len -= part;
	}
}

static void
sink_gzip_finish(Sink *sink)
{
	GzipSink   *gzip = (GzipSink *) sink;

	/* an empty file is no gzip file: empty input is one empty member */
	if (gzip->in_used > 0 || !gzip->any_member)
		write_member(gzip, gzip->in, gzip->in_used);
	gzip->in_used = 0;
	sink_finish(sink->next);
}

static void
sink_gzip_free(Sink *sink)
{
	GzipSink   *gzip = (GzipSink *) sink;

	sink_free(sink->next);
	libdeflate_free_compressor(gzip->compressor);
	free(gzip->in);
	free(gzip->out);
	free(gzip);
}

static const SinkOps sink_gzip_ops = {
	.write = sink_gzip_write,
	.finish = sink_gzip_finish,
	.free = sink_gzip_free,
};

Sink *
sink_gzip_new(Sink *next, int level)
{
	GzipSink   *gzip = pg_malloc0(sizeof(GzipSink));

	gzip->base.ops = &sink_gzip_ops;
	gzip->base.next = next;
	gzip->compressor = libdeflate_alloc_compressor(level);
	if (gzip->compressor == NULL)
		pg_fatal("could not initialize compression library: %s", "libdeflate");
	gzip->in = pg_malloc(MEMBER_BYTES);
	gzip->out_size = libdeflate_gzip_compress_bound(gzip->compressor,
													MEMBER_BYTES);
	gzip->out = pg_malloc(gzip->out_size);
	return &gzip->base;
}

/*
 * sink_zstd.c
 *		zstd: one frame a file.
 */
#include "fe_compat.h"

#include <zstd.h>

#include "sink.h"

typedef struct ZstdSink
{
	Sink		base;
	ZSTD_CCtx  *context;
	ZSTD_outBuffer out;
} ZstdSink;

static size_t
check_zstd(size_t result)
{
	if (ZSTD_isError(result))
		pg_fatal("could not compress data: %s", ZSTD_getErrorName(result));
	return result;
}

/*
 * Feed input and hand on full output buffers, until zstd has taken all
 * (ZSTD_e_continue) or closed the frame (ZSTD_e_end).
 */
static void
compress(ZstdSink *zstd, const void *data, size_t len, ZSTD_EndDirective mode)
{
	ZSTD_inBuffer in = {data, len, 0};
	size_t		left;

	do
	{
		left = check_zstd(ZSTD_compressStream2(zstd->context, &zstd->out,
											   &in, mode));
		if (zstd->out.pos == zstd->out.size || mode == ZSTD_e_end)
		{
			sink_write(zstd->base.next, zstd->out.dst, zstd->out.pos);
			zstd->out.pos = 0;
		}
	} while (mode == ZSTD_e_end ? left > 0 : in.pos < in.size);
}

static void
sink_zstd_write(Sink *sink, const void *data, size_t len)
{
	compress((ZstdSink *) sink, data, len, ZSTD_e_continue);
}

static void
sink_zstd_finish(Sink *sink)
{
	compress((ZstdSink *) sink, NULL, 0, ZSTD_e_end);
	sink_finish(sink->next);
}

static void
sink_zstd_free(Sink *sink)
{
	ZstdSink   *zstd = (ZstdSink *) sink;

	sink_free(sink->next);
	ZSTD_freeCCtx(zstd->context);
	free(zstd->out.dst);
	free(zstd);
}

static const SinkOps sink_zstd_ops = {
	.write = sink_zstd_write,
	.finish = sink_zstd_finish,
	.free = sink_zstd_free,
};

Sink *
sink_zstd_new(Sink *next, const CompressSpec *spec)
{
	ZstdSink   *zstd = pg_malloc0(sizeof(ZstdSink));

	zstd->base.ops = &sink_zstd_ops;
	zstd->base.next = next;
	zstd->context = ZSTD_createCCtx();
	if (zstd->context == NULL)
		pg_fatal("could not initialize compression library: %s", "zstd");
	check_zstd(ZSTD_CCtx_setParameter(zstd->context, ZSTD_c_compressionLevel,
									  spec->level));
	if (spec->workers > 0)
		check_zstd(ZSTD_CCtx_setParameter(zstd->context, ZSTD_c_nbWorkers,
										  spec->workers));
	if (spec->long_distance)
		check_zstd(ZSTD_CCtx_setParameter(zstd->context,
										  ZSTD_c_enableLongDistanceMatching,
										  1));
	zstd->out.size = ZSTD_CStreamOutSize();
	zstd->out.dst = pg_malloc(zstd->out.size);
	return &zstd->base;
}

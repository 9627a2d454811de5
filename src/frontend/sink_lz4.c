/*
 * sink_lz4.c
 *		lz4: one frame a file, in 64 kB blocks.
 *
 * pg_restore reads frames of larger blocks several times slower.
 */
#include "fe_compat.h"

#include <lz4frame.h>

#include "sink.h"

/* What one LZ4F_compressUpdate() call is given at most. */
#define STEP_BYTES ((size_t) 256 * 1024)

typedef struct Lz4Sink
{
	Sink		base;
	LZ4F_compressionContext_t context;
	LZ4F_preferences_t preferences;
	char	   *out;
	size_t		out_size;
} Lz4Sink;

static size_t
check_lz4(size_t result)
{
	if (LZ4F_isError(result))
		pg_fatal("could not compress data: %s", LZ4F_getErrorName(result));
	return result;
}

static void
sink_lz4_write(Sink *sink, const void *data, size_t len)
{
	Lz4Sink    *lz4 = (Lz4Sink *) sink;
	const char *pos = data;

	while (len > 0)
	{
		size_t		part = Min(len, STEP_BYTES);
		size_t		made;

		made = check_lz4(LZ4F_compressUpdate(lz4->context, lz4->out,
											 lz4->out_size, pos, part, NULL));
		sink_write(sink->next, lz4->out, made);
		pos += part;
		len -= part;
	}
}

static void
sink_lz4_finish(Sink *sink)
{
	Lz4Sink    *lz4 = (Lz4Sink *) sink;
	size_t		made;

	made = check_lz4(LZ4F_compressEnd(lz4->context, lz4->out,
									  lz4->out_size, NULL));
	sink_write(sink->next, lz4->out, made);
	sink_finish(sink->next);
}

static void
sink_lz4_free(Sink *sink)
{
	Lz4Sink    *lz4 = (Lz4Sink *) sink;

	sink_free(sink->next);
	LZ4F_freeCompressionContext(lz4->context);
	free(lz4->out);
	free(lz4);
}

static const SinkOps sink_lz4_ops = {
	.write = sink_lz4_write,
	.finish = sink_lz4_finish,
	.free = sink_lz4_free,
};

Sink *
sink_lz4_new(Sink *next, int level)
{
	Lz4Sink    *lz4 = pg_malloc0(sizeof(Lz4Sink));
	size_t		made;

	lz4->base.ops = &sink_lz4_ops;
	lz4->base.next = next;
	lz4->preferences.compressionLevel = level;
	lz4->preferences.frameInfo.blockSizeID = LZ4F_max64KB;
	check_lz4(LZ4F_createCompressionContext(&lz4->context, LZ4F_VERSION));
	lz4->out_size = Max(LZ4F_compressBound(STEP_BYTES, &lz4->preferences),
						LZ4F_HEADER_SIZE_MAX);
	lz4->out = pg_malloc(lz4->out_size);
	made = check_lz4(LZ4F_compressBegin(lz4->context, lz4->out,
										lz4->out_size, &lz4->preferences));
	sink_write(next, lz4->out, made);
	return &lz4->base;
}

/*
 * sink.c
 *		Puts the chain of sinks together for a compression method.
 */
#include "fe_compat.h"

#include "sink.h"

Sink *
sink_open_archive_file(const char *path, const CompressSpec *spec)
{
	char	   *full_path = psprintf("%s%s", path,
									 compress_method_suffix(spec->method));
	Sink	   *file = sink_file_new(full_path);

	free(full_path);
	switch (spec->method)
	{
		case COMPRESS_NONE:
			return file;
		case COMPRESS_GZIP:
			return sink_gzip_new(file, spec->level);
		case COMPRESS_LZ4:
			return sink_lz4_new(file, spec->level);
		case COMPRESS_ZSTD:
			return sink_zstd_new(file, spec);
	}
	pg_fatal("unrecognized compression method %d", (int) spec->method);
}

uint64
sink_stored_bytes(const Sink *sink)
{
	while (sink->next)
		sink = sink->next;
	return sink->bytes_in;
}

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
	if (spec->method == COMPRESS_NONE)
		return file;
	return sink_compress_new(file, spec);
}

uint64
sink_stored_bytes(const Sink *sink)
{
	while (sink->next)
		sink = sink->next;
	return sink->bytes_in;
}

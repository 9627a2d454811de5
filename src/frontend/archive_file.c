/*
 * archive_file.c
 *		Makes one file of an archive, and its result.
 *
 * The chain of sinks: count raw bytes -> compress -> count stored bytes ->
 * write.  A file that comes compressed begins without the first two.
 */
#include "fe_compat.h"

#include "archive_file.h"

struct ArchiveFile
{
	Sink	   *sink;			/* the chain's first */
	CompressSpec compress;
	FileResult *result;
	WorkerProgress *progress;
	uint64		raw_elsewhere;	/* compressed before they came */
	int64		start_us;
	int			worker;
};

static ArchiveFile *
begin(FileResults *results, FileResult *result, const char *path,
	  const CompressSpec *compress)
{
	ArchiveFile *file = pg_malloc0(sizeof(ArchiveFile));
	char	   *full_path = psprintf("%s%s", path,
									 compress_method_suffix(compress->method));

	file->start_us = now_us();
	file->compress = *compress;
	file->result = result;
	result->done = false;
	file->worker = results->worker;
	file->progress = file_results_progress(results);
	file->sink = sink_tap_new(sink_file_new(full_path),
							  &file->progress->stored_bytes);
	free(full_path);
	return file;
}

static void
prepend_compression(ArchiveFile *file)
{
	if (file->compress.method != COMPRESS_NONE)
		file->sink = sink_compress_new(file->sink, &file->compress);
	file->sink = sink_tap_new(file->sink, &file->progress->raw_bytes);
}

ArchiveFile *
archive_file_begin(FileResults *results, FileResult *result, const char *path,
				   const CompressSpec *compress)
{
	ArchiveFile *file = begin(results, result, path, compress);

	prepend_compression(file);
	return file;
}

ArchiveFile *
archive_file_begin_compressed(FileResults *results, FileResult *result,
							  const char *path, const CompressSpec *compress)
{
	return begin(results, result, path, compress);
}

void
archive_file_compress_rest(ArchiveFile *file, uint64 raw_bytes)
{
	file->raw_elsewhere = raw_bytes;
	prepend_compression(file);
}

Sink *
archive_file_sink(ArchiveFile *file)
{
	return file->sink;
}

void
archive_file_complete(ArchiveFile *file, uint64 rows)
{
	FileResult *result = file->result;

	sink_finish(file->sink);
	result->rows = rows;
	result->raw_bytes = file->raw_elsewhere + file->sink->bytes_in;
	result->stored_bytes = sink_stored_bytes(file->sink);
	result->start_us = file->start_us;
	result->end_us = now_us();
	result->worker = file->worker;
	file->progress->raw_bytes = 0;
	file->progress->stored_bytes = 0;
	__sync_synchronize();
	result->done = true;
	sink_free(file->sink);
	free(file);
}

/*
 * archive_file.c
 *		Makes one file of an archive, and its result.
 *
 * The chain of sinks: count raw bytes -> compress -> count stored bytes and
 * their checksum -> write.  A file that comes compressed begins without the
 * first two.
 */
#include "base/fe_compat.h"

#include "archive/archive_file.h"
#include "base/clock.h"
#include "stream/sink.h"

struct ArchiveFile
{
	Sink	   *sink;			/* the chain's first */
	CompressSpec compress;
	pg_checksum_context checksum;	/* of the stored bytes */
	FileResult *result;
	WorkerProgress *progress;
	uint64		raw_elsewhere;	/* compressed before they came */
	int64		start_us;
	int			worker;
	int			server;
};

ArchiveFile *
archive_file_begin_compressed(FileResults *results, FileResult *result,
							  Sink *sink, const CompressSpec *compress)
{
	ArchiveFile *file = pg_malloc0(sizeof(ArchiveFile));

	file->start_us = clock_wall_us();
	file->result = result;
	result->done = false;
	file->worker = results->worker;
	file->server = results->server;
	file->progress = file_results_progress(results);
	if (pg_checksum_init(&file->checksum, results->checksum_type) < 0)
		pg_fatal("could not compute a checksum");
	file->sink = sink_tap_new(sink, &file->progress->stored_bytes,
							  &file->checksum);
	if (compress)
		file->compress = *compress;
	return file;
}

static void
prepend_compression(ArchiveFile *file)
{
	if (file->compress.method != COMPRESS_NONE)
		file->sink = sink_compress_new(file->sink, &file->compress);
	file->sink = sink_tap_new(file->sink, &file->progress->raw_bytes, NULL);
}

ArchiveFile *
archive_file_begin(FileResults *results, FileResult *result, Sink *sink,
				   const CompressSpec *compress)
{
	ArchiveFile *file = archive_file_begin_compressed(results, result, sink,
													  compress);

	prepend_compression(file);
	return file;
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
	result->checksum_len = pg_checksum_final(&file->checksum,
											 result->checksum);
	if (result->checksum_len < 0)
		pg_fatal("could not compute a checksum");
	result->start_us = file->start_us;
	result->end_us = clock_wall_us();
	result->worker = file->worker;
	result->server = file->server;
	file->progress->rows = 0;
	file->progress->raw_bytes = 0;
	file->progress->stored_bytes = 0;
	__sync_synchronize();
	result->done = true;
	sink_free(file->sink);
	free(file);
}

/*
 * archive_file.h
 *		A file of rows or of a large object while a worker makes it: the sinks
 *		it is written through, and what there is to tell about it.
 */
#ifndef ARCHIVE_FILE_H
#define ARCHIVE_FILE_H

#include "shared/compress_spec.h"

#include "progress/file_result.h"
#include "stream/sink.h"

typedef struct ArchiveFile ArchiveFile;

/* What follows the rows of a table or a chunk, for pg_restore -f. */
#define ARCHIVE_END_OF_ROWS "\\.\n\n\n"

/*
 * Make a file of what the sink, which is taken over, writes: a new one of an
 * ArchiveDir.  What it gets is compressed first, unless compress is NULL.
 * Its result, one of results, is set when the file is complete.
 */
extern ArchiveFile *archive_file_begin(FileResults *results,
									   FileResult *result, Sink *sink,
									   const CompressSpec *compress);

/* The same of a file whose bytes come compressed already. */
extern ArchiveFile *archive_file_begin_compressed(FileResults *results,
												  FileResult *result,
												  Sink *sink,
												  const CompressSpec *compress);

/*
 * All that came compressed is written, and was raw_bytes before: what follows
 * is compressed here, as a stream of its own.  The sink is another then.
 */
extern void archive_file_compress_rest(ArchiveFile *file, uint64 raw_bytes);

/* Where its bytes go; borrowed. */
extern Sink *archive_file_sink(ArchiveFile *file);

/* Finish the sinks, set the result, and free the file. */
extern void archive_file_complete(ArchiveFile *file, uint64 rows);

#endif							/* ARCHIVE_FILE_H */

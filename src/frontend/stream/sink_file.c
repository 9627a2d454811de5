/*
 * sink_file.c
 *		The end of every chain: writes a new file.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <unistd.h>

#include "stream/sink_file.h"

/* After so many bytes their way to the disk begins. */
#define FLUSH_BYTES (1024 * 1024)

typedef struct FileSink
{
	Sink		base;
	char	   *path;
	int			fd;				/* -1 once closed */
	bool		flushes;
	off_t		written;
	off_t		flushed;
} FileSink;

/*
 * A hint, which may fail: whoever needs the file on the disk flushes it, and
 * hears of errors there.
 */
static void
begin_flush(FileSink *file)
{
#ifdef HAVE_SYNC_FILE_RANGE
	(void) sync_file_range(file->fd, file->flushed,
						   file->written - file->flushed,
						   SYNC_FILE_RANGE_WRITE);
#endif
	file->flushed = file->written;
}

static void
sink_file_write(Sink *sink, const void *data, size_t len)
{
	FileSink   *file = (FileSink *) sink;
	const char *pos = data;

	while (len > 0)
	{
		ssize_t		written = write(file->fd, pos, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
		{
			/* a short write that sets no errno is a full disk */
			if (written == 0)
				errno = ENOSPC;
			pg_fatal("could not write file \"%s\": %m", file->path);
		}
		pos += written;
		len -= written;
		file->written += written;
	}
	if (file->flushes && file->written - file->flushed >= FLUSH_BYTES)
		begin_flush(file);
}

static void
sink_file_finish(Sink *sink)
{
	FileSink   *file = (FileSink *) sink;
	int			fd = file->fd;

	file->fd = -1;
	/* network file systems report a failed write only here */
	if (close(fd) < 0)
		pg_fatal("could not close file \"%s\": %m", file->path);
}

static void
sink_file_free(Sink *sink)
{
	FileSink   *file = (FileSink *) sink;

	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

static const SinkOps sink_file_ops = {
	.write = sink_file_write,
	.finish = sink_file_finish,
	.free = sink_file_free,
};

Sink *
sink_file_new(const char *path)
{
	FileSink   *file = pg_malloc0(sizeof(FileSink));

	file->base.ops = &sink_file_ops;
	file->path = pg_strdup(path);
	file->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | PG_BINARY, 0600);
	if (file->fd < 0)
		pg_fatal("could not create file \"%s\": %m", path);
	return &file->base;
}

Sink *
sink_file_new_flushing(const char *path)
{
	Sink	   *sink = sink_file_new(path);

	((FileSink *) sink)->flushes = true;
	return sink;
}

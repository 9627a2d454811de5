/*
 * sink.c
 *		Implements the sinks of sink.h: memory, compression, a file, a
 *		command, and a counter.
 *
 * Each section contains the struct of a sink, its callbacks, its SinkOps and
 * the function that creates it.
 */
#include "base/fe_compat.h"

#include <sys/ioctl.h>
#include <sys/wait.h>

#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/interrupt.h"
#include "process/child_program.h"
#include "stream/sink.h"

uint64
sink_stored_bytes(const Sink *sink)
{
	while (sink->next)
		sink = sink->next;
	return sink->bytes_in;
}

void
sink_finish(Sink *sink)
{
	if (sink->ops->finish)
		sink->ops->finish(sink);
	else if (sink->next)
		sink_finish(sink->next);
}

void
sink_free(Sink *sink)
{
	if (sink->ops->free)
		sink->ops->free(sink);
	else
	{
		if (sink->next)
			sink_free(sink->next);
		free(sink);
	}
}

void
sink_write_buffer(Sink *sink, PQExpBuffer buf)
{
	sink_write(sink, buffer_text(buf), buf->len);
	resetPQExpBuffer(buf);
}

/* ----------
 * The end of a chain: memory, for data that is used only when it is complete.
 * ----------
 */

typedef struct BufferSink
{
	Sink		base;
	PQExpBuffer buffer;			/* borrowed */
} BufferSink;

static void
sink_buffer_write(Sink *sink, const void *data, size_t len)
{
	appendBinaryPQExpBuffer(((BufferSink *) sink)->buffer, data, len);
}

static void
sink_buffer_finish(Sink *sink)
{
	(void) buffer_text(((BufferSink *) sink)->buffer);
}

static const SinkOps sink_buffer_ops = {
	.write = sink_buffer_write,
	.finish = sink_buffer_finish,
};

Sink *
sink_buffer_new(PQExpBuffer buffer)
{
	BufferSink *sink = pg_malloc0(sizeof(BufferSink));

	sink->base.ops = &sink_buffer_ops;
	sink->buffer = buffer;
	return &sink->base;
}

/* ----------
 * A sink that compresses data for the next sink.
 * ----------
 */

typedef struct CompressSink
{
	Sink		base;
	CompressSpec spec;
	BlockCompressor *compressor;
	void	   *out;
} CompressSink;

/*
 * A process writes many files, most of them small, with the same method, so
 * the compressor of the last file is kept for the next one.
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
		/*
		 * The compressor may be in the middle of a stream, if the file was
		 * given up.  Resetting it costs less than creating a new one, which
		 * would be most of the work for a small table.
		 */
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
	sink->compressor = block_compressor_new(spec, false);
	if (sink->compressor == NULL)
		pg_fatal("could not initialize compression with \"%s\"",
				 compress_method_name(spec->method));
	sink->out = pg_malloc(block_compressor_out_bytes(sink->compressor));
	sink->spec = *spec;
	return &sink->base;
}

/* ----------
 * The end of a chain: a new file.
 * ----------
 */

bool
write_at(int fd, const void *data, size_t len, uint64 offset)
{
	const char *pos = data;

	while (len > 0)
	{
		ssize_t		written = pwrite(fd, pos, len, (off_t) offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
		{
			/* A short write without errno means that the disk is full. */
			if (written == 0)
				errno = ENOSPC;
			return false;
		}
		pos += written;
		len -= written;
		offset += written;
	}
	return true;
}

/* After this number of bytes, the kernel is asked to write them to disk. */
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

static void
sink_file_write(Sink *sink, const void *data, size_t len)
{
	FileSink   *file = (FileSink *) sink;

	if (!write_at(file->fd, data, len, file->written))
		pg_fatal("could not write file \"%s\": %m", file->path);
	file->written += len;
	if (file->flushes && file->written - file->flushed >= FLUSH_BYTES)
	{
		/*
		 * This is only a hint, which may fail: the caller flushes the
		 * complete file later, and gets errors there.
		 */
		(void) sync_file_range(file->fd, file->flushed,
							   file->written - file->flushed,
							   SYNC_FILE_RANGE_WRITE);
		file->flushed = file->written;
	}
}

static void
sink_file_finish(Sink *sink)
{
	FileSink   *file = (FileSink *) sink;

	/*
	 * On Linux, the descriptor is closed even if close() fails, so
	 * sink_file_free() must not close it again.
	 */
	int			fd = file->fd;

	file->fd = -1;
	/* Network file systems may report a failed write only here. */
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

/* ----------
 * The end of a chain: the standard input of a --pipe command.
 *
 * A command takes the end of its input for the end of the file.  So if the
 * file cannot be completed, the command must be ended before it sees the end
 * of its input, with all processes that it has started, and also when this
 * process exits (child_process_set_fed).  Only if this process is killed with
 * SIGKILL, the command remains, and may store a part of the file under the
 * file's name at any time.  So the job of a worker that was killed is not
 * repeated.
 * ----------
 */

typedef struct PipeSink
{
	Sink		base;
	char	   *name;			/* the archive's file, for messages */
	char	   *command;
	int			fd;				/* -1 once closed */
	pid_t		pid;			/* 0 once it has ended */
} PipeSink;

char *
sink_pipe_command(const char *pattern, const char *name, const char *old_name)
{
	PQExpBufferData command = buffer_new();

	for (const char *pos = pattern; *pos; pos++)
	{
		if (*pos != '%')
			appendPQExpBufferChar(&command, *pos);
		else if (*++pos == 'f')
			appendShellString(&command, name);
		else if (*pos == 'o' && old_name)
			appendShellString(&command, old_name);
		else if (*pos == '%')
			appendPQExpBufferChar(&command, '%');
		else
			return NULL;
	}
	return buffer_text(&command);
}

/*
 * Is this the slash between a directory and a name?  At the end of a word, a
 * slash is part of a path that would be empty without the directory, and a
 * second slash would become that of the root directory.
 */
static bool
precedes_name(const char *pos)
{
	return pos[0] == '/' && pos[1] != '\0' &&
		strchr("/ \t\n;&|<>()'\"`", pos[1]) == NULL;
}

char *
sink_pipe_directory(const char *pattern, const char *directory)
{
	PQExpBufferData result = buffer_new();

	for (const char *pos = pattern; *pos; pos++)
	{
		bool		is_sign = pos[0] == '%' && pos[1] != '\0';

		if (is_sign && pos[1] == 'd' && directory == NULL && precedes_name(pos + 2))
			pos++;				/* skip the slash, too */
		else if (is_sign && pos[1] == 'd')
			appendPQExpBufferStr(&result, directory ? directory : ".");
		else
			appendBinaryPQExpBuffer(&result, pos, is_sign ? 2 : 1);
		pos += is_sign;
	}
	return buffer_text(&result);
}

/*
 * Wait for the end of the command, whose input is closed, or which has ended
 * early.  Exits with a message if it has failed.
 */
static void
check_end(PipeSink *pipe)
{
	int			status = 0;

	while (waitpid(pipe->pid, &status, 0) < 0 && errno == EINTR)
		interrupt_check();
	pipe->pid = 0;
	/* The command has ended, so another process may get its process ID. */
	child_process_set_fed(0);
	if (status == 0)
		return;
	interrupt_check();
	pg_log_error("command for file \"%s\" failed: %s", pipe->name,
				 wait_result_to_str(status));
	pg_fatal_detail("Command was: %s", pipe->command);
}

/*
 * Exit because the command reports success, but has not read all data that it
 * should have stored.
 */
static void
unread(const PipeSink *pipe)
{
	pg_log_error("command for file \"%s\" exited before it had read all of its input",
				 pipe->name);
	pg_fatal_detail("Command was: %s", pipe->command);
}

static void
sink_pipe_write(Sink *sink, const void *data, size_t len)
{
	PipeSink   *pipe = (PipeSink *) sink;
	const char *pos = data;

	while (len > 0)
	{
		ssize_t		written = write(pipe->fd, pos, len);

		if (written < 0 && errno == EINTR)
		{
			interrupt_check();
			continue;
		}
		if (written < 0)
		{
			if (errno != EPIPE)
				pg_fatal("could not write file \"%s\" to its command: %m",
						 pipe->name);
			check_end(pipe);
			unread(pipe);
		}
		pos += written;
		len -= written;
	}
}

/*
 * Close the input, and wait for the command.  A small file fits into the
 * pipe's buffer, so writing it does not fail even if the command does not
 * read it.  So the read end is opened here too, after all data was written,
 * to find out whether data is left when the command has ended.  Without
 * /proc, this is not checked.
 */
static void
sink_pipe_finish(Sink *sink)
{
	PipeSink   *pipe = (PipeSink *) sink;
	char	   *path = psprintf("/proc/self/fd/%d", pipe->fd);
	int			read_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int			left = 0;

	free(path);
	close(pipe->fd);
	pipe->fd = -1;
	check_end(pipe);
	if (read_fd >= 0 && ioctl(read_fd, FIONREAD, &left) == 0 && left > 0)
		unread(pipe);
	if (read_fd >= 0)
		close(read_fd);
}

static void
sink_pipe_free(Sink *sink)
{
	PipeSink   *pipe = (PipeSink *) sink;

	if (pipe->pid != 0)
		child_process_end_fed();
	if (pipe->fd >= 0)
		close(pipe->fd);
	free(pipe->name);
	free(pipe->command);
	free(pipe);
}

static const SinkOps sink_pipe_ops = {
	.write = sink_pipe_write,
	.finish = sink_pipe_finish,
	.free = sink_pipe_free,
};

Sink *
sink_pipe_new(const char *pattern, const char *name, int err_fd)
{
	PipeSink   *pipe = pg_malloc0(sizeof(PipeSink));
	const char *args[] = {"sh", "-c", NULL, NULL};
	int			fds[2];

	pipe->base.ops = &sink_pipe_ops;
	pipe->name = pg_strdup(name);
	pipe->command = sink_pipe_command(pattern, name, NULL);
	args[2] = pipe->command;
	child_program_pipe(fds);
	pipe->pid = child_program_start_reading("/bin/sh", args, fds[0], err_fd,
											err_fd);
	close(fds[0]);
	pipe->fd = fds[1];
	return &pipe->base;
}

/* ----------
 * A sink that counts bytes in shared memory, and computes their checksum.
 * ----------
 */

typedef struct TapSink
{
	Sink		base;
	volatile uint64 *counter;	/* borrowed */
	pg_checksum_context *checksum;	/* borrowed, or NULL */
} TapSink;

static void
sink_tap_write(Sink *sink, const void *data, size_t len)
{
	TapSink    *tap = (TapSink *) sink;

	/*
	 * The leader reads the counter at the same time.  Each worker has a
	 * counter of its own, so no update can be lost without a lock.
	 */
	*tap->counter += len;
	if (tap->checksum)
		checksum_add(tap->checksum, data, len);
	sink_write(sink->next, data, len);
}

static const SinkOps sink_tap_ops = {
	.write = sink_tap_write,
};

Sink *
sink_tap_new(Sink *next, volatile uint64 *counter,
			 pg_checksum_context *checksum)
{
	TapSink    *tap = pg_malloc0(sizeof(TapSink));

	tap->base.ops = &sink_tap_ops;
	tap->base.next = next;
	tap->counter = counter;
	tap->checksum = checksum;
	return &tap->base;
}

/*
 * sink_pipe.c
 *		The end of a chain: a command's standard input, with --pipe.
 *
 * The end of its input tells a command that it has had the whole file.  So a
 * command whose file will not become whole must not live to see it: it is
 * ended first, with all that it started, also when the process exits
 * (child_process_set_fed).  Only SIGKILL of the process leaves it behind, to
 * store under the file's name what it has, whenever it likes: the job of a
 * worker that was killed is not done anew.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fe_utils/string_utils.h"

#include "base/interrupt.h"
#include "process/child_process.h"
#include "process/child_program.h"
#include "stream/sink_pipe.h"

typedef struct PipeSink
{
	Sink		base;
	char	   *name;			/* of the archive's file, for messages */
	char	   *command;
	int			fd;				/* -1 once closed */
	pid_t		pid;			/* 0 once it is gone */
} PipeSink;

char *
sink_pipe_command(const char *pattern, const char *name)
{
	PQExpBufferData command;

	initPQExpBuffer(&command);
	for (const char *pos = pattern; *pos; pos++)
	{
		if (*pos != '%')
			appendPQExpBufferChar(&command, *pos);
		else if (*++pos == 'f')
			appendShellString(&command, name);
		else if (*pos == '%')
			appendPQExpBufferChar(&command, '%');
		else
		{
			termPQExpBuffer(&command);
			return NULL;
		}
	}
	if (PQExpBufferDataBroken(command))
		pg_fatal("out of memory");
	return command.data;
}

/* The command has ended, or will when its input has: must have gone well. */
static void
check_end(PipeSink *pipe)
{
	int			status = 0;

	while (waitpid(pipe->pid, &status, 0) < 0 && errno == EINTR)
		interrupt_check();
	pipe->pid = 0;
	child_process_set_fed(0);
	if (status == 0)
		return;
	interrupt_check();
	pg_log_error("command for file \"%s\" failed: %s", pipe->name,
				 wait_result_to_str(status));
	pg_log_error_detail("Command was: %s", pipe->command);
	exit(1);
}

/* It went well, it says, but what it should have stored it has not seen. */
static void
unread(const PipeSink *pipe)
{
	pg_log_error("command for file \"%s\" ended before it had read all of it",
				 pipe->name);
	pg_log_error_detail("Command was: %s", pipe->command);
	exit(1);
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
 * A small file fits into the pipe, and writing it fails not even if nobody
 * reads.  So the other end is opened here too, once all is written, to see
 * what is left in it when the command is gone.  Where there is no /proc this
 * is not known.
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
	pipe->command = sink_pipe_command(pattern, name);
	args[2] = pipe->command;
	child_program_pipe(fds);
	pipe->pid = child_program_start_reading("/bin/sh", args, fds[0], err_fd,
											err_fd);
	close(fds[0]);
	pipe->fd = fds[1];
	return &pipe->base;
}

/*
 * command_reader.c
 *		Implements command_reader.h: runs a command, reads its output, and
 *		checks that the output is complete.
 *
 * A shell returns success if the last command of a pipeline succeeds, even if
 * another one failed, and a command may end early without an error.  So exit
 * status 0 does not show that the output is complete.  If the size and the
 * checksum are known from the manifest, they are compared here.  Otherwise
 * the caller must notice that compressed data or rows do not end as their
 * format requires.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <sys/wait.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "process/child_program.h"
#include "stream/command_reader.h"
#include "stream/sink.h"

/*
 * A signal that arrives just before poll() does not interrupt it.  So poll()
 * returns after this time, and the caller checks for signals again.
 */
#define LOOK_AGAIN_MS 200

struct CommandReader
{
	char	   *name;			/* name of the archive's file */
	char	   *text;			/* the command that the shell runs */
	const ReadCommand *command;
	uint64		most;			/* limit if the size is not known; 0 = none */
	bool		is_known;		/* "expected" is valid */
	ExpectedBytes expected;
	pg_checksum_context checksum;
	pid_t		pid;			/* 0 when the command has ended */
	int			fd;
	int			held_fd;		/* messages that are not passed on yet; -1 =
								 * none are held back */
	int64		start_ms;		/* clock_monotonic_ms() */
	int64		latency_ms;		/* until the first byte was read */
	uint64		n_read;
	bool		at_end;
	char	   *error;
	bool		is_wrong;		/* error: the command returned wrong bytes */
	void		(*progress) (void *arg, uint64 n_read);
	void	   *progress_arg;
};

static char *last_command;
static bool last_failed;

const char *
command_reader_last(void)
{
	return last_command;
}

bool
command_reader_last_failed(void)
{
	return last_failed;
}

void
command_reader_note(const CommandReader *reader)
{
	free(last_command);
	last_command = pg_strdup(reader->text);
	last_failed = reader->error && !reader->is_wrong;
}

CommandReader *
command_reader_new(const ReadCommand *command, const char *name,
				   const char *old_name, const ExpectedBytes *expected,
				   CommandUse use)
{
	CommandReader *reader = pg_malloc0(sizeof(CommandReader));
	const char *args[] = {"sh", "-c", NULL, NULL};

	/*
	 * The standard input is open only for writing, so a command that reads it
	 * fails.  A user may give the dump's command by mistake: with an empty
	 * standard input, that command would replace the stored file by an empty
	 * one.
	 */
	int			nothing = open(DEVNULL, O_WRONLY | O_CLOEXEC);
	int			fds[2];
	int			err[2] = {-1, command->err_fd};

	if (nothing < 0)
		pg_fatal("could not open file \"%s\": %m", DEVNULL);
	reader->name = pg_strdup(name);
	reader->command = command;
	if (expected)
	{
		reader->is_known = true;
		reader->expected = *expected;
		checksum_begin(&reader->checksum, expected->checksum_type);
	}
	args[2] = reader->text = sink_pipe_command(command->pattern, name, old_name);
	child_program_pipe(fds);
	if (use == COMMAND_MAY_FAIL)
	{
		child_program_pipe(err);
		if (fcntl(err[0], F_SETFL, O_NONBLOCK) < 0)
			pg_fatal("could not create pipe: %m");
	}
	reader->pid = child_program_start_asked("/bin/sh", args, nothing, fds[1],
											err[1]);
	if (reader->pid < 0 && use == COMMAND_IS_NEEDED)
		pg_fatal("could not create child process: %m");
	close(nothing);
	close(fds[1]);
	if (use == COMMAND_MAY_FAIL)
		close(err[1]);
	reader->fd = fds[0];
	reader->held_fd = err[0];
	reader->start_ms = clock_monotonic_ms();
	if (reader->pid > 0)
		return reader;
	reader->pid = 0;
	command_reader_free(reader);
	return NULL;
}

int64
command_reader_latency_ms(const CommandReader *reader)
{
	return reader->latency_ms;
}

bool
command_reader_is_ready(const CommandReader *reader)
{
	struct pollfd fd = {.fd = reader->fd,.events = POLLIN};

	return poll(&fd, 1, 0) != 0;
}

void
command_reader_watch(CommandReader *reader,
					 void (*progress) (void *arg, uint64 n_read), void *arg)
{
	reader->progress = progress;
	reader->progress_arg = arg;
}

void
command_reader_limit(CommandReader *reader, uint64 most)
{
	reader->most = most;
}

static void command_reader_fail(CommandReader *reader, const char *format,...)
			pg_attribute_printf(2, 3);

/* Set the reader's error, and end the command, which is no longer needed. */
static void
command_reader_fail(CommandReader *reader, const char *format,...)
{
	char		text[1024];
	va_list		args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	reader->error = pg_strdup(text);
	if (reader->pid != 0)
		child_process_end_asked(reader->pid);
	reader->pid = 0;
}

/* Has the command sent nothing since this time, for the whole timeout? */
static bool
is_stalled(CommandReader *reader, int64 since)
{
	uint64		limit = reader->command->stall_timeout;

	return limit > 0 &&
		clock_monotonic_ms() - since >= (int64) (limit * 1000);
}

/* The capacity of a pipe. */
#define MESSAGE_BYTES 65536

/* Pass on messages that were held back. */
static void
show_held(CommandReader *reader)
{
	char		text[MESSAGE_BYTES];
	ssize_t		len = reader->held_fd < 0 ? 0 :
		read(reader->held_fd, text, sizeof(text));
	ssize_t		written pg_attribute_unused();

	if (len > 0)
		written = write(reader->command->err_fd, text, len);
}

/*
 * Set the error after is_stalled().  A command that has ended is named as
 * such, because then a longer timeout does not help.
 */
static void
fail_stalled(CommandReader *reader)
{
	int			status;
	bool		has_ended = child_process_wait_asked(reader->pid, &status, 0);

	if (has_ended)
		reader->pid = 0;
	command_reader_fail(reader, has_ended ?
						"command for file \"%s\" has ended, but a process that it left in the background kept its output open for " UINT64_FORMAT " s" :
						"command for file \"%s\" returned no data for " UINT64_FORMAT " s",
						reader->name, reader->command->stall_timeout);
}

/* Like read(), but sets the reader's error if it returns -1. */
static ssize_t
wait_for_bytes(CommandReader *reader, void *buf, size_t size)
{
	int64		since = clock_monotonic_ms();

	while (!is_stalled(reader, since))
	{
		struct pollfd fd = {.fd = reader->fd,.events = POLLIN};
		int			ready = poll(&fd, 1, LOOK_AGAIN_MS);
		ssize_t		len;

		interrupt_check();
		if (ready < 0 && errno != EINTR)
			pg_fatal("%s() failed: %m", "poll");
		show_held(reader);
		if (ready <= 0)
			continue;
		len = read(reader->fd, buf, size);
		if (len >= 0)
			return len;
		if (errno != EINTR)
		{
			command_reader_fail(reader, "could not read from the command for file \"%s\": %s",
								reader->name, strerror(errno));
			return -1;
		}
	}
	fail_stalled(reader);
	return -1;
}

/*
 * The command has closed its output.  Wait until it exits, and set the error
 * if it does not exit in time, or has failed.
 */
static void
check_status(CommandReader *reader)
{
	int64		since = clock_monotonic_ms();
	int			status;

	while (!child_process_wait_asked(reader->pid, &status, LOOK_AGAIN_MS))
	{
		interrupt_check();
		show_held(reader);
		if (!is_stalled(reader, since))
			continue;
		command_reader_fail(reader, "command for file \"%s\" did not exit within " UINT64_FORMAT " s after its last data",
							reader->name, reader->command->stall_timeout);
		return;
	}
	reader->pid = 0;
	if (status != 0)
		command_reader_fail(reader, "command for file \"%s\" failed: %s",
							reader->name, wait_result_to_str(status));
}

/*
 * The command has succeeded.  Set the error if the size or the checksum of
 * the output is not as expected.
 */
static void
check_bytes(CommandReader *reader)
{
	const ExpectedBytes *expected = &reader->expected;
	uint8		got[PG_CHECKSUM_MAX_LENGTH];
	int			len;

	if (!reader->is_known)
		return;
	len = checksum_end(&reader->checksum, got);
	if (reader->n_read != expected->n)
		command_reader_fail(reader, ngettext("command for file \"%s\" returned " UINT64_FORMAT " byte instead of " UINT64_FORMAT,
											 "command for file \"%s\" returned " UINT64_FORMAT " bytes instead of " UINT64_FORMAT,
											 reader->n_read),
							reader->name, reader->n_read, expected->n);
	else if (expected->checksum_len > 0 &&
			 (len != expected->checksum_len ||
			  memcmp(got, expected->checksum, len) != 0))
		command_reader_fail(reader, "command for file \"%s\" returned data that does not match the checksum in the manifest",
							reader->name);
}

static ssize_t
read_some(CommandReader *reader, void *buf, size_t size)
{
	ssize_t		len = wait_for_bytes(reader, buf, size);

	if (len > 0)
	{
		if (reader->n_read == 0)
			reader->latency_ms = clock_monotonic_ms() - reader->start_ms;
		reader->n_read += len;
		if (reader->is_known)
			checksum_add(&reader->checksum, buf, len);
		/* Check this with each read: the output may never end. */
		if (reader->is_known && reader->n_read > reader->expected.n)
			command_reader_fail(reader, ngettext("command for file \"%s\" returned more than " UINT64_FORMAT " byte",
												 "command for file \"%s\" returned more than " UINT64_FORMAT " bytes",
												 reader->expected.n),
								reader->name, reader->expected.n);
		else if (!reader->is_known && reader->most > 0 && reader->n_read > reader->most)
			command_reader_fail(reader, "command for file \"%s\" returned more than %s",
								reader->name, units_size(reader->most));
		reader->is_wrong = reader->error != NULL;
		if (reader->error == NULL && reader->progress)
			reader->progress(reader->progress_arg, reader->n_read);
		return reader->error ? -1 : len;
	}
	if (len == 0)
	{
		reader->at_end = true;
		check_status(reader);
		if (reader->error == NULL)
		{
			check_bytes(reader);
			reader->is_wrong = reader->error != NULL;
		}
	}
	return reader->error ? -1 : 0;
}

ssize_t
command_reader_read(CommandReader *reader, void *buf, size_t size)
{
	ssize_t		len = reader->error ? -1 : reader->at_end ? 0 :
		read_some(reader, buf, size);

	/* the last messages come before those about the failure */
	if (len <= 0)
		show_held(reader);
	/* the commands of several files may have started before this read */
	if (len <= 0 || reader->n_read == (uint64) len)
		command_reader_note(reader);
	return len;
}

const char *
command_reader_error(const CommandReader *reader)
{
	return reader->error;
}

void
command_reader_free(CommandReader *reader)
{
	if (reader->pid != 0)
		child_process_end_asked(reader->pid);
	close(reader->fd);
	if (reader->held_fd >= 0)
		close(reader->held_fd);
	free(reader->name);
	free(reader->text);
	free(reader->error);
	free(reader);
}

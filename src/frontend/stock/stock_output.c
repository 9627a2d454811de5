/*
 * stock_output.c
 *		Runs stock pg_restore for what it writes to its standard output.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "process/child_program.h"
#include "stock/stock_output.h"

/*
 * A signal just before a poll() does not end it: look again after this time.
 */
#define LOOK_AGAIN_MS 200

/* All that it writes until its end, while its words are shown. */
static void
read_output(int fd, ProgramWords *words, PQExpBuffer text)
{
	char		buf[65536];

	for (;;)
	{
		struct pollfd fds[2] = {
			{.fd = fd,.events = POLLIN},
			{.fd = words->fd,.events = POLLIN}	/* -1 is ignored */
		};
		ssize_t		len;

		interrupt_check();
		if (poll(fds, 2, LOOK_AGAIN_MS) < 0 && errno != EINTR)
			pg_fatal("%s() failed: %m", "poll");
		if (fds[1].revents)
			program_words_hear(words, 0, true);
		if (!fds[0].revents)
			continue;
		len = read(fd, buf, sizeof(buf));
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			pg_fatal("could not read from pg_restore: %m");
		if (len == 0)
			return;
		appendBinaryPQExpBuffer(text, buf, len);
	}
}

/* Ends the process unless all went well. */
static void
wait_for_end(pid_t pid, ProgramWords *words)
{
	int			status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			pg_fatal("%s() failed: %m", "waitpid");
	program_words_hear(words, 0, true);
	program_words_close(words);
	if (WIFSIGNALED(status))
		pg_fatal("pg_restore was terminated by signal %d: %s",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) != 0)
		exit(WEXITSTATUS(status));
}

void
stock_output_read(const char **args, PQExpBuffer text)
{
	ProgramWords words;
	int			out[2];
	int			err[2];
	pid_t		pid;

	child_program_pipe(out);
	child_program_pipe(err);
	pid = child_program_start(args[0], args, NULL, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	program_words_open(&words, err[0], "pg_restore: ");
	read_output(out[0], &words, text);
	close(out[0]);
	wait_for_end(pid, &words);
	if (PQExpBufferDataBroken(*text))
		pg_fatal("out of memory");
}

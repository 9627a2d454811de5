/*
 * stock_list.c
 *		Runs `pg_restore -l`, or leaves it all to pg_restore.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pqexpbuffer.h"

#include "base/interrupt.h"
#include "process/child_program.h"
#include "process/program_words.h"
#include "stock/stock_list.h"

/* A signal just before a poll() does not end it: look again so often. */
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

/*
 * Lines of "ID; ...", and comments, which begin with a semicolon
 * (pg_backup_archiver.c:PrintTOCSummary).
 */
static int *
parse_ids(const char *text, int *n_ids)
{
	int		   *ids = NULL;
	int			space = 0;

	*n_ids = 0;
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
	{
		char	   *end;
		long		id = strtol(line, &end, 10);

		if (end != line && *end == ';' && id > 0 && id <= PG_INT32_MAX)
		{
			if (*n_ids == space)
			{
				space = Max(256, space * 2);
				ids = pg_realloc(ids, space * sizeof(int));
			}
			ids[(*n_ids)++] = (int) id;
		}
		else if (*line != ';')
			pg_fatal("could not read the list that pg_restore makes");
		if (line[strcspn(line, "\n")] == '\0')
			break;
	}
	return ids;
}

static int
count_args(const char *const *args)
{
	int			n = 0;

	while (args && args[n])
		n++;
	return n;
}

int *
stock_list_read(const char *program, const Options *options, int *n_ids)
{
	int			n = count_args(options->list_args);
	const char **args = pg_malloc((n + 5) * sizeof(char *));
	ProgramWords words;
	PQExpBufferData text;
	int			out[2];
	int			err[2];
	pid_t		pid;
	int		   *ids;

	args[0] = program;
	args[1] = "-l";
	if (n > 0)
		memcpy(args + 2, options->list_args, n * sizeof(char *));
	args[n + 2] = "--";
	args[n + 3] = options->restore;
	args[n + 4] = NULL;
	child_program_pipe(out);
	child_program_pipe(err);
	pid = child_program_start(program, args, NULL, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	program_words_open(&words, err[0], "pg_restore: ");
	initPQExpBuffer(&text);
	read_output(out[0], &words, &text);
	close(out[0]);
	wait_for_end(pid, &words);
	if (PQExpBufferDataBroken(text))
		pg_fatal("out of memory");
	ids = parse_ids(text.data, n_ids);
	termPQExpBuffer(&text);
	free(args);
	return ids;
}

void
stock_list_become(const char *program, const Options *options)
{
	int			n = count_args(options->pg_restore_args);
	const char **args = pg_malloc((n + 2) * sizeof(char *));

	args[0] = program;
	if (n > 0)
		memcpy(args + 1, options->pg_restore_args, n * sizeof(char *));
	args[n + 1] = NULL;
	interrupt_reset_signals();
	execv(program, (char *const *) args);
	pg_fatal("could not execute \"%s\": %m", program);
}

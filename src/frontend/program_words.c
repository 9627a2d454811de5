/*
 * program_words.c
 *		Hears what a program that this one runs says on its standard error.
 */
#include "fe_compat.h"

#include <poll.h>
#include <unistd.h>

#include "event_log.h"
#include "printable.h"
#include "program_words.h"

void
program_words_open(ProgramWords *words, int fd, const char *prefix)
{
	words->fd = fd;
	words->prefix = prefix;
	initPQExpBuffer(&words->line);
}

static void
show_line(ProgramWords *words)
{
	const char *line = words->line.data;
	Event	   *event = event_new("output");

	if (PQExpBufferDataBroken(words->line))
		pg_fatal("out of memory");
	message_before_output();
	fprintf(stderr, "%s%s\n",
			strncmp(line, words->prefix, strlen(words->prefix)) == 0 ? "" : "\t",
			printable(line));
	event_add_text(event, "message", line);
	event_write(event);
	resetPQExpBuffer(&words->line);
}

void
program_words_hear(ProgramWords *words, int wait_ms, bool show)
{
	struct pollfd fd = {.fd = words->fd,.events = POLLIN};
	char		text[4096];

	while (words->fd >= 0 && poll(&fd, 1, wait_ms) > 0)
	{
		ssize_t		len = read(words->fd, text, sizeof(text));

		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			program_words_close(words);
		for (ssize_t i = 0; show && i < len; i++)
		{
			if (text[i] == '\n')
				show_line(words);
			else
				appendPQExpBufferChar(&words->line, text[i]);
		}
	}
}

void
program_words_close(ProgramWords *words)
{
	if (words->fd < 0)
		return;
	close(words->fd);
	words->fd = -1;
	if (words->line.len > 0)
		show_line(words);
	termPQExpBuffer(&words->line);
}

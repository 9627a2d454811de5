/*
 * program_words.c
 *		Hears what a program that this one runs says on its standard error.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <unistd.h>

#include "base/event_log.h"
#include "base/message.h"
#include "process/program_words.h"

void
program_words_open(ProgramWords *words, int fd, const char *prefix)
{
	words->fd = fd;
	words->prefix = prefix;
	words->counted = words->left_out = NULL;
	words->is_end = NULL;
	words->end = NULL;
	words->n_counted = 0;
	words->n_lines = words->n_blank = 0;
	initPQExpBuffer(&words->line);
}

/* Without the directory, which is there if getopt_long() speaks. */
static const char *
skip_directory(const char *line, const char *prefix)
{
	const char *end = line[0] == '/' ? strstr(line, prefix) : NULL;

	return end && end[-1] == '/' ? end : line;
}

/* Empty lines are within a message if more of it follows. */
static void
show_text(ProgramWords *words, const char *line)
{
	bool		begins = strncmp(line, words->prefix, strlen(words->prefix)) == 0;

	message_before_output();
	for (; !begins && words->n_blank > 0; words->n_blank--)
		fprintf(stderr, "\t\n");
	words->n_blank = 0;
	if (words->n_lines++ == 0 && !begins)
		fprintf(stderr, "%s%s\n", words->prefix, printable(line));
	else
		fprintf(stderr, "%s%s\n", begins ? "" : "\t", printable(line));
}

/* prefix: NULL is none */
static bool
begins_with(const char *line, const char *prefix)
{
	return prefix && strncmp(line, prefix, strlen(prefix)) == 0;
}

/* Count the line; false if it is not to be shown. */
static bool
count_line(ProgramWords *words, const char *line)
{
	bool		counts = begins_with(line, words->counted);

	if (words->end == NULL && counts && words->is_end && words->is_end(line))
		words->end = pg_strdup(line + strlen(words->counted));
	if (words->end)
		return false;
	words->n_counted += counts ? 1 : 0;
	return !begins_with(line, words->left_out);
}

static void
show_line(ProgramWords *words)
{
	const char *line = words->line.data;
	Event	   *event;

	if (PQExpBufferDataBroken(words->line))
		pg_fatal("out of memory");
	if (!count_line(words, line))
	{
		resetPQExpBuffer(&words->line);
		return;
	}
	if (words->line.len == 0)
	{
		words->n_blank += words->n_lines > 0 ? 1 : 0;
		return;
	}
	show_text(words, skip_directory(line, words->prefix));
	event = event_new("output");
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

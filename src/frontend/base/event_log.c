/*
 * event_log.c
 *		--log-json: what happens, as one JSON object a line, for programs.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/event_log.h"
#include "base/hex.h"
#include "base/json.h"

/*
 * An event has at most three texts of any length, and all of it must fit in
 * PIPE_BUF, 4096 bytes on Linux.
 */
#define MAX_TEXT_BYTES 1200

#define RUN_ID_BYTES 16

struct Event
{
	PQExpBufferData line;
};

/* Of the process, as its standard error is: errors anywhere are events. */
static int	log_fd = -1;

static bool log_is_stdout = false;

/* In hexadecimal; NULL without a log. */
static char *run_id;

FILE *
event_log_text_output(void)
{
	return log_is_stdout ? stderr : stdout;
}

void
event_log_open(const char *path, const char *command, const char *database)
{
	const char *outer_run_id = run_id;
	Event	   *event;

	/*
	 * Standard output is duplicated, so that the log can be closed after a
	 * failed write while the program still prints.  With O_APPEND the kernel
	 * appends each write() as a whole, so lines of several processes do not
	 * overwrite each other.
	 */
	log_is_stdout = strcmp(path, "-") == 0;
	if (log_is_stdout)
		log_fd = dup(STDOUT_FILENO);
	else
		log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log_fd < 0)
		pg_fatal("could not open file \"%s\": %m", path);
	/* dup() does not copy this flag */
	(void) fcntl(log_fd, F_SETFD, FD_CLOEXEC);
	run_id = hex_random(RUN_ID_BYTES);
	event = event_new("start");
	event_add_number(event, "schema_version", EVENT_SCHEMA_VERSION);
	event_add_text(event, "version", PARDUMP_VERSION);
	event_add_text(event, "command", command);
	/* of one of all databases: its name, and the run for all of them */
	event_add_text(event, "database", database);
	event_add_text(event, "all_databases_run_id", outer_run_id);
	event_write(event);
}

Event *
event_new(const char *kind)
{
	Event	   *event;

	if (log_fd < 0)
		return NULL;
	event = pg_malloc(sizeof(Event));
	initPQExpBuffer(&event->line);
	appendPQExpBufferStr(&event->line, "{\"time\":");
	json_append_time(&event->line, clock_wall_us(), 3);
	appendPQExpBuffer(&event->line, ",\"pid\":%d,\"run_id\":\"%s\"",
					  (int) getpid(), run_id);
	event_add_text(event, "event", kind);
	return event;
}

void
event_add_text(Event *event, const char *key, const char *text)
{
	if (event == NULL || text == NULL)
		return;
	appendPQExpBuffer(&event->line, ",\"%s\":", key);
	json_append_text(&event->line, text, MAX_TEXT_BYTES);
}

void
event_add_number(Event *event, const char *key, uint64 number)
{
	if (event)
		appendPQExpBuffer(&event->line, ",\"%s\":" UINT64_FORMAT, key, number);
}

void
event_add_seconds(Event *event, const char *key, double seconds)
{
	if (event)
		appendPQExpBuffer(&event->line, ",\"%s\":%.3f", key, seconds);
}

/* All of it in one write(), or false. */
static bool
write_line(const PQExpBufferData *line)
{
	ssize_t		written;

	do
		written = write(log_fd, line->data, line->len);
	while (written < 0 && errno == EINTR);
	/* a part of a line is a failure, too, of which write() sets no errno */
	if (written >= 0 && written < (ssize_t) line->len)
		errno = ENOSPC;
	return written == (ssize_t) line->len;
}

void
event_write(Event *event)
{
	if (event == NULL)
		return;
	appendPQExpBufferStr(&event->line, "}\n");
	if (!PQExpBufferDataBroken(event->line) && log_fd >= 0 &&
		!write_line(&event->line))
	{
		int			save_errno = errno;

		/* closed first: the warning would be an event */
		close(log_fd);
		log_fd = -1;
		errno = save_errno;
		pg_log_warning("could not write to the event log: %m");
	}
	termPQExpBuffer(&event->line);
	free(event);
}

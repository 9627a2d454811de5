/*
 * message.c
 *		Messages on standard error, made safe to show and counted as findings,
 *		and the event log, which errors and warnings are also written to.
 */
#include "base/fe_compat.h"

#include "mb/pg_wchar.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/message.h"
#include "base/units.h"

/* ----------
 * Makes text of unknown origin safe to show.
 * ----------
 */

/*
 * How many bytes at text belong together: a character of UTF-8, or just one.
 */
static int
char_bytes(const char *text)
{
	int			len = pg_encoding_verifymbchar(PG_UTF8, text,
											   (int) strnlen(text, 4));

	return Max(len, 1);
}

/*
 * A control character of ASCII, or one of the second set (C1), in UTF-8 or by
 * itself, as in LATIN1?
 */
static bool
is_control(const char *text, int len)
{
	const unsigned char *c = (const unsigned char *) text;

	if (len > 1)
		return c[0] == 0xC2 && c[1] < 0xA0;
	return c[0] < 0x20 || (c[0] >= 0x7F && c[0] < 0xA0);
}

/*
 * The text with its control characters as \xNN; owned.  Of several lines the
 * later ones begin with a tab, and tabs stay.
 */
static char *
escaped(const char *text, bool lines)
{
	PQExpBufferData buf = buffer_new();

	while (*text)
	{
		int			len = char_bytes(text);

		if (lines && *text == '\n')
			appendPQExpBufferStr(&buf, text[1] == '\t' ? "\n" : "\n\t");
		else if (!is_control(text, len) || (lines && *text == '\t'))
			appendBinaryPQExpBuffer(&buf, text, len);
		else
			for (int i = 0; i < len; i++)
				appendPQExpBuffer(&buf, "\\x%02x", (unsigned char) text[i]);
		text += len;
	}
	return buffer_text(&buf);
}

const char *
printable(const char *text)
{
	const char *pos = text;
	int			len;

	for (; *pos; pos += len)
	{
		len = char_bytes(pos);
		if (is_control(pos, len))
			return escaped(text, false);
	}
	return text;
}

char *
printable_message(const char *text)
{
	return escaped(text, true);
}

/* ----------
 * The event log
 * ----------
 */

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
		pg_log_warning_detail("The run continues without it.");
	}
	termPQExpBuffer(&event->line);
	free(event);
}

/* ----------
 * Counts and lists what is found before a run begins its work.
 * ----------
 */

/* Messages come from anywhere, so these are the process's. */
static int	n_errors;
static int	n_warnings;
static bool listed;				/* by --check */
static PQExpBufferData findings;	/* the list, if there is one */
static const char *title;		/* of the list, until it was shown */

static void
put(int level, int part, const char *text)
{
	static const char *const heads[] = {NULL, "  DETAIL: ", "  HINT: "};

	if (part == MESSAGE_PRIMARY)
		appendPQExpBufferStr(&findings, level >= PG_LOG_ERROR ? "error: " : "warning: ");
	else
		appendPQExpBufferStr(&findings, heads[part]);
	/* the later lines of a printable_message() begin with a tab */
	for (; *text; text++)
		if (*text != '\n')
			appendPQExpBufferChar(&findings, *text == '\t' ? ' ' : *text);
	appendPQExpBufferChar(&findings, '\n');
}

/*
 * A printable_message() of this level and part (of common/logging.h) is about
 * to be shown: count it.  True if it was put into the list instead.
 */
static bool
findings_take(int level, int part, const char *text)
{
	if (level < PG_LOG_WARNING)
		return false;
	if (listed)
		put(level, part, text);
	if (part == MESSAGE_PRIMARY && level >= PG_LOG_ERROR)
		n_errors++;
	else if (part == MESSAGE_PRIMARY)
		n_warnings++;
	return listed;
}

void
findings_note(const char *text)
{
	if (listed)
		fprintf(event_log_text_output(), "%s\n", text);
}

static void
message_put_sum(void *arg)
{
	FILE	   *out = event_log_text_output();
	Event	   *event = event_new("check");

	if (title)
		fprintf(out, "%s:\n", findings_take_title());
	fputs(buffer_text(&findings), out);
	/* of several databases, this is said of all together */
	if (n_errors + n_warnings == 0 && message_database() == NULL)
		fputs("no problems found\n", out);
	else if (n_errors + n_warnings > 0)
		fprintf(out, "%d error%s, %d warning%s\n", n_errors, units_plural(n_errors),
				n_warnings, units_plural(n_warnings));
	event_add_number(event, "errors", n_errors);
	event_add_number(event, "warnings", n_warnings);
	event_write(event);
}

void
findings_begin_list(void)
{
	listed = true;
	initPQExpBuffer(&findings);
	cleanup_push(message_put_sum, NULL);
}

void
findings_begin_process(void)
{
	n_errors = n_warnings = 0;
	listed = false;
}

void
findings_set_title(const char *text)
{
	title = text;
}

const char *
findings_take_title(void)
{
	const char *result = title;

	title = NULL;
	return result;
}

void
findings_report(void)
{
	/* with --check the run continues, to find what else is wrong */
	if (n_errors > 0 && !listed)
		exit(1);
}

void
findings_end(void)
{
	if (n_errors > 0)
		exit(1);
	cleanup_forget_all();
	message_put_sum(NULL);
}

/* ----------
 * All messages on standard error
 * ----------
 */

/* Messages come from anywhere, so this is the process's. */
static char next_sqlstate[6];
static void (*before_output) (void);
static pid_t before_output_owner;
static const char *run_database;

void
message_set_sqlstate(const char *sqlstate)
{
	strlcpy(next_sqlstate, sqlstate ? sqlstate : "", sizeof(next_sqlstate));
}

void
message_before_output(void)
{
	if (before_output && before_output_owner == getpid())
		before_output();
}

void
message_set_before_output(void (*function) (void))
{
	before_output = function;
	before_output_owner = getpid();
	/* what libraries tell by themselves */
	pg_logging_set_pre_callback(message_before_output);
}

/* Where a program that runs scripts tells the script's line. */
static void
report_database(const char **filename, uint64 *lineno)
{
	*filename = printable(run_database);
	*lineno = 0;
}

void
message_set_database(const char *database)
{
	run_database = database;
	pg_logging_set_locus_callback(report_database);
}

const char *
message_database(void)
{
	return run_database;
}

/* ----------
 * What libraries write
 * ----------
 */
#ifdef __GLIBC__

/* What libpq writes at a time; longer texts come in pieces (snprintf.c). */
#define GUARD_PIECE_BYTES 1024

/* Standard error, while something else has its name; else NULL. */
static FILE *guarded;

/* What was written last: does more of it follow, and in a line of its own? */
static bool guard_goes_on;
static bool guard_line_ended;

/*
 * At once: it may say what the user has to do before there is a connection.
 */
static ssize_t
show_guarded(void *cookie, const char *data, size_t size)
{
	bool		ends = size > 0 && data[size - 1] == '\n';
	bool		continues = guard_goes_on && guard_line_ended;
	char	   *text = pg_malloc0(size + 1);
	char	   *shown;

	memcpy(text, data, ends ? size - 1 : size);
	shown = printable_message(text);
	if (!guard_goes_on)
		message_before_output();
	fprintf(guarded, "%s%s%s", continues && *shown != '\t' ? "\t" : "", shown,
			ends ? "\n" : "");
	guard_goes_on = !ends || size >= GUARD_PIECE_BYTES;
	guard_line_ended = ends;
	free(shown);
	free(text);
	return size;
}

/* What libc calls stderr is a variable, of libraries, too. */
void
message_guard_begin(void)
{
	static const cookie_io_functions_t functions = {.write = show_guarded};
	FILE	   *stream = fopencookie(NULL, "w", functions);

	Assert(guarded == NULL);
	if (stream == NULL)
		pg_fatal("out of memory");

	/*
	 * Without a buffer, the text is shown before libpq waits for the network,
	 * and none of it is left when stderr gets its file back.
	 */
	setvbuf(stream, NULL, _IONBF, 0);
	guard_goes_on = false;
	guarded = stderr;
	stderr = stream;
}

void
message_guard_end(void)
{
	FILE	   *stream = stderr;

	if (guarded == NULL)
		return;
	stderr = guarded;
	fclose(stream);
	guarded = NULL;
}

#else							/* stderr need not be a variable */

void
message_guard_begin(void)
{
}

void
message_guard_end(void)
{
}

#endif							/* __GLIBC__ */

/* ----------
 * Messages
 * ----------
 */
static void message_report(int level, int part, const char *format,...)
			pg_attribute_printf(3, 4);

static void report_v(int level, int part, const char *format, va_list args)
			pg_attribute_printf(3, 0);

#ifdef __GLIBC__

/* Standard error, while a message is put together; else NULL. */
static FILE *direct;

/*
 * PostgreSQL's library writes a message in pieces, between which those of
 * other processes would come: of databases that have their turn at a time,
 * and of workers.
 */
static void
report_v(int level, int part, const char *format, va_list args)
{
	char	   *text = NULL;
	size_t		len = 0;
	FILE	   *stream = direct ? NULL : open_memstream(&text, &len);

	if (stream == NULL)
	{
		/* a signal has come between */
		if (direct)
			stderr = direct;
		direct = NULL;
		log_generic_v(level, part, format, args);
		return;
	}
	direct = stderr;
	stderr = stream;
	log_generic_v(level, part, format, args);
	if (direct)
		stderr = direct;
	direct = NULL;
	fclose(stream);
	fwrite(text, 1, len, stderr);
	free(text);
}

#else

static void
report_v(int level, int part, const char *format, va_list args)
{
	log_generic_v(level, part, format, args);
}

#endif							/* __GLIBC__ */

/* What the macros of common/logging.h would call. */
static void
message_report(int level, int part, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	report_v(level, part, format, args);
	va_end(args);
}

static void
note(int level, int part, const char *text)
{
	static const char *const keys[] = {"message", "detail", "hint"};
	Event	   *event = event_new(level >= PG_LOG_ERROR ? "error" : "warning");

	event_add_text(event, keys[part], text);
	if (part == MESSAGE_PRIMARY && next_sqlstate[0] != '\0')
		event_add_text(event, "sqlstate", next_sqlstate);
	event_write(event);
	if (part == MESSAGE_PRIMARY)
		next_sqlstate[0] = '\0';
}

/* Without the newline that libpq's messages end in; owned. */
static char *formatted(const char *format, va_list args)
			pg_attribute_printf(1, 0);

static char *
formatted(const char *format, va_list args)
{
	va_list		again;
	int			save_errno = errno; /* for %m */
	size_t		len;
	char	   *text;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, again);
	va_end(again);
	text = pg_malloc(len + 1);
	errno = save_errno;
	vsnprintf(text, len + 1, format, args);
	while (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	return text;
}

static void message_log_v(int level, int part, const char *format,
						  va_list args) pg_attribute_printf(3, 0);

static void
message_log_v(int level, int part, const char *format, va_list args)
{
	int			save_errno = errno;
	char	   *text;
	char	   *shown;

	if (level < (int) __pg_log_level)
		return;

	/*
	 * A message of ours ends the guard, as it needs the real stderr.  The
	 * text is formatted only then, and once: for the terminal, for the list
	 * of findings and for the log, each of which escapes it in its own way.
	 */
	message_guard_end();
	text = formatted(format, args);
	shown = printable_message(text);
	if (!findings_take(level, part, shown))
		message_report(level, part, "%s", shown);
	if (level >= PG_LOG_WARNING)
		note(level, part, text);
	free(shown);
	free(text);
	/* callers may use %m in the detail that follows the message */
	errno = save_errno;
}

void
message_log(int level, int part, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	message_log_v(level, part, format, args);
	va_end(args);
}

void
message_hint(const char *text)
{
	char	   *shown = printable_message(text);

	message_guard_end();
	/* a level that is always shown; only the primary part would name it */
	message_report(PG_LOG_ERROR, MESSAGE_HINT, "%s", shown);
	free(shown);
}

char *
message_sentence(const char *cause)
{
	size_t		len = strlen(cause);
	char	   *result;

	while (len > 0 && cause[len - 1] == '\n')
		len--;
	result = psprintf("%.*s%s", (int) len, cause,
					  len == 0 || cause[len - 1] == '.' ||
					  memchr(cause, '\n', len) ? "" : ".");
	result[0] = pg_ascii_toupper((unsigned char) result[0]);
	return result;
}

/*
 * PostgreSQL's libraries call pg_log_generic(): the linker leads them here
 * ("--wrap" in the manual of ld).
 */
extern void __wrap_pg_log_generic(int level, int part, const char *format,...)
			pg_attribute_printf(3, 4);

void
__wrap_pg_log_generic(int level, int part, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	message_log_v(level, part, format, args);
	va_end(args);
}

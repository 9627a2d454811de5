/*
 * message.c
 *		Prints messages to standard error after making them safe to show,
 *		counts errors and warnings as findings, and writes the event log,
 *		which also contains errors and warnings.
 */
#include "base/fe_compat.h"

#include "mb/pg_wchar.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/message.h"

/* ----------
 * Making text of unknown origin safe to show.
 * ----------
 */

/*
 * Returns the length of the UTF-8 character at text, or 1 if there is no
 * valid one.
 */
static int
char_bytes(const char *text)
{
	int			len = pg_encoding_verifymbchar(PG_UTF8, text,
											   (int) strnlen(text, 4));

	return Max(len, 1);
}

/*
 * Is this a control character of ASCII, or one of the second set (C1), either
 * in UTF-8 or as a single byte, as in LATIN1?
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
 * Returns the text with its control characters as \xNN; the caller owns it.
 * In a text of several lines, the second and later lines begin with a tab,
 * and tabs are kept.
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
 * The event log.
 * ----------
 */

/*
 * The longest text in an event.  An event has at most three texts without a
 * limit of their own, and the whole event must fit in PIPE_BUF, which is 4096
 * bytes on Linux.
 */
#define MAX_TEXT_BYTES 1200

#define RUN_ID_BYTES 16

struct Event
{
	PQExpBufferData line;
};

/*
 * These variables are global, because errors in any function become events.
 */
static int	log_fd = -1;

static bool log_is_stdout = false;

/*
 * The random ID of this run, in hexadecimal digits.  NULL means that there is
 * no log.
 */
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
	 * Standard output is duplicated so that the log can be closed after a
	 * failed write, while the program continues to print.  O_APPEND makes the
	 * kernel append each write() as a whole, so lines of several processes do
	 * not overwrite each other.
	 */
	log_is_stdout = strcmp(path, "-") == 0;
	if (log_is_stdout)
		log_fd = dup(STDOUT_FILENO);
	else
		log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log_fd < 0)
		pg_fatal("could not open file \"%s\": %m", path);
	/* dup() clears this flag, and child programs must not inherit the log. */
	(void) fcntl(log_fd, F_SETFD, FD_CLOEXEC);
	run_id = hex_random(RUN_ID_BYTES);
	event = event_new("start");
	event_add_number(event, "schema_version", EVENT_SCHEMA_VERSION);
	event_add_text(event, "version", PARDUMP_VERSION);
	event_add_text(event, "command", command);

	/*
	 * A run for one of several databases names the database and the run that
	 * has started it.
	 */
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

/* Write the line in a single write().  Returns false on failure. */
static bool
write_line(const PQExpBufferData *line)
{
	ssize_t		written;

	do
		written = write(log_fd, line->data, line->len);
	while (written < 0 && errno == EINTR);

	/*
	 * A partial write is a failure too, for which write() does not set errno.
	 */
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

		/* Close the log first, because the warning would be written to it. */
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
 * The findings of checks.
 * ----------
 */

/* These variables are global, because any function may log messages. */
static FindingCounts counts;
static FindingCounts *parent_counts;	/* for the parent process, or NULL */
static bool listed;				/* with --check */
static PQExpBufferData findings;	/* the list, with --check */
static const char *title;		/* title of the list until it is shown */
static int	n_checked;			/* databases; 0 = one, without a number */
static int	n_of_databases;		/* errors of single databases */
static const char *failed;		/* databases with errors, unless all have */

static void
put(const char *head, const char *text)
{
	appendPQExpBufferStr(&findings, head);

	/*
	 * printable_message() begins later lines with a tab, which becomes a
	 * space here: a finding is one line.
	 */
	for (; *text; text++)
		if (*text != '\n')
			appendPQExpBufferChar(&findings, *text == '\t' ? ' ' : *text);
	appendPQExpBufferChar(&findings, '\n');
}

/*
 * Count a printable_message() of this level and part (common/logging.h)
 * before it is shown.  Returns true if it was added to the list, and must not
 * be shown.
 */
static bool
findings_take(int level, int part, const char *text)
{
	if (level < PG_LOG_WARNING)
		return false;
	if (listed)
		put(part == MESSAGE_DETAIL ? "  detail: " :
			part == MESSAGE_HINT ? "  hint: " :
			level >= PG_LOG_ERROR ? "error: " : "warning: ", text);
	if (part == MESSAGE_PRIMARY && level >= PG_LOG_ERROR)
		counts.errors++;
	else if (part == MESSAGE_PRIMARY)
		counts.warnings++;
	return listed;
}

void
findings_count_warning(void)
{
	counts.warnings++;
}

void
findings_note(const char *text)
{
	if (listed)
		fprintf(event_log_text_output(), "%s\n", text);
}

/*
 * "2 problems (errors: 1, warnings: 1); a run would fail", "2 problems
 * (databases checked: 4, errors: 2, warnings: 0); a run would dump all
 * databases except shop, web".  An error that does not belong to a database
 * ends the whole run.
 */
static void
put_verdict(FILE *out)
{
	int			n = counts.errors + counts.warnings;
	const char *format;

	if (n == 0 && n_checked == 0)
		fputs("no problems found\n", out);
	else if (n == 0)
		fprintf(out, ngettext("no problems found in %d database\n",
							  "no problems found in %d databases\n", n_checked),
				n_checked);
	else if (n_checked == 0)
	{
		format = counts.errors > 0 ?
			ngettext("%d problem (errors: %d, warnings: %d); a run would fail\n",
					 "%d problems (errors: %d, warnings: %d); a run would fail\n", n) :
			ngettext("%d problem (errors: %d, warnings: %d); a run would start\n",
					 "%d problems (errors: %d, warnings: %d); a run would start\n", n);
		fprintf(out, format, n, counts.errors, counts.warnings);
	}
	else
	{
		format = failed && counts.errors == n_of_databases ?
			ngettext("%d problem (databases checked: %d, errors: %d, warnings: %d); a run would dump all databases except %s\n",
					 "%d problems (databases checked: %d, errors: %d, warnings: %d); a run would dump all databases except %s\n", n) :
			counts.errors > 0 ?
			ngettext("%d problem (databases checked: %d, errors: %d, warnings: %d); a run would fail\n",
					 "%d problems (databases checked: %d, errors: %d, warnings: %d); a run would fail\n", n) :
			ngettext("%d problem (databases checked: %d, errors: %d, warnings: %d); a run would start\n",
					 "%d problems (databases checked: %d, errors: %d, warnings: %d); a run would start\n", n);
		fprintf(out, format, n, n_checked, counts.errors, counts.warnings, failed);
	}
}

static void
message_put_sum(void *arg)
{
	FILE	   *out = event_log_text_output();
	Event	   *event = event_new("check");

	if (title)
		fprintf(out, "%s:\n", findings_take_title());
	fputs(buffer_text(&findings), out);

	if (parent_counts)
		*parent_counts = counts;
	else
		put_verdict(out);
	event_add_number(event, "errors", counts.errors);
	event_add_number(event, "warnings", counts.warnings);
	event_write(event);
}

/* An exit callback: the program has not reached findings_end(). */
static void
message_put_failure(void *arg)
{
	/* The reason may be only in the output of another program. */
	if (counts.errors == 0)
	{
		pg_log_error("the check was not completed");
		pg_log_error_hint("Look for messages of other programs on standard error.");
	}
	message_put_sum(arg);
}

void
findings_begin_list(void)
{
	listed = true;
	initPQExpBuffer(&findings);
	cleanup_push(message_put_failure, NULL);
}

void
findings_begin_process(FindingCounts *sum)
{
	counts.errors = counts.warnings = 0;
	parent_counts = sum;
	listed = false;
}

void
findings_add_databases(const FindingCounts *sum, int n_databases,
					   const char *names)
{
	counts.errors += sum->errors;
	counts.warnings += sum->warnings;
	n_checked = n_databases;
	n_of_databases = sum->errors;
	failed = names;
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
	/* With --check, the run continues to find other problems. */
	if (!listed)
		findings_require();
}

void
findings_require(void)
{
	if (counts.errors > 0)
		exit(1);
}

void
findings_end(void)
{
	findings_require();
	cleanup_forget_all();
	message_put_sum(NULL);
}

/* ----------
 * The context of messages.
 * ----------
 */

/* These variables are global, because any function may log messages. */
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
	/* PostgreSQL's libraries also log messages themselves. */
	pg_logging_set_pre_callback(message_before_output);
}

/*
 * Programs that run scripts report the script and line in this position.
 * Here, it is the database.
 */
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
 * Text that libpq writes to standard error itself.
 * ----------
 */
#ifdef __GLIBC__

/* libpq writes longer texts in several parts of this size (snprintf.c). */
#define GUARD_PIECE_BYTES 1024

/* The real standard error while stderr is replaced, otherwise NULL. */
static FILE *guarded;

/* Is the last text incomplete, and did it end with a newline? */
static bool guard_goes_on;
static bool guard_line_ended;

/*
 * Show a part of a text at once, because it may ask the user to do something
 * before the connection can be made.
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

	/*
	 * libpq passes only the text, in which the severity is in the language of
	 * the server.  So only English warnings are counted.
	 */
	if (!guard_goes_on && text_after(text, "WARNING:"))
		findings_count_warning();
	fprintf(guarded, "%s%s%s", continues && *shown != '\t' ? "\t" : "", shown,
			ends ? "\n" : "");
	guard_goes_on = !ends || size >= GUARD_PIECE_BYTES;
	guard_line_ended = ends;
	free(shown);
	free(text);
	return size;
}

/*
 * In glibc, stderr is a variable, which libraries use too.  So replacing it
 * redirects their output.
 */
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
	 * and nothing is left in the stream when stderr is restored.
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

#else							/* stderr may be a constant */

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
 * Printing and recording messages.
 * ----------
 */
static void message_report(int level, int part, const char *format,...)
			pg_attribute_printf(3, 4);

static void report_v(int level, int part, const char *format, va_list args)
			pg_attribute_printf(3, 0);

#ifdef __GLIBC__

/*
 * The real standard error while a message is being composed, otherwise NULL.
 */
static FILE *direct;

/*
 * Print a message with a single write.  PostgreSQL's library writes a message
 * in several parts, and messages of other processes, such as workers, could
 * appear between them.
 */
static void
report_v(int level, int part, const char *format, va_list args)
{
	char	   *text = NULL;
	size_t		len = 0;
	FILE	   *stream = direct ? NULL : open_memstream(&text, &len);

	if (stream == NULL)
	{
		/* A signal handler has interrupted another message. */
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

/* Print a message, like pg_log_generic() of common/logging.h. */
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

/*
 * Returns the formatted text without the newline at the end of libpq's
 * messages; the caller owns it.
 */
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
	 * Our messages need the real stderr, so end the guard.  The text is
	 * formatted only then, and only once: for the terminal, the list of
	 * findings, and the log, each of which escapes it in its own way.
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
	/* Callers may use %m in the detail that follows this message. */
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

	/*
	 * Errors are shown at every log level.  The level's name appears only in
	 * the primary part of a message.
	 */
	if (listed)
		put("hint: ", shown);
	else
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
 * Calls of pg_log_generic() in PostgreSQL's libraries come here: the linker
 * option --wrap replaces the function.
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

/*
 * message.c
 *		What is told on standard error goes through here.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "base/event_log.h"
#include "base/findings.h"
#include "base/printable.h"

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
tell_database(const char **filename, uint64 *lineno)
{
	*filename = printable(run_database);
	*lineno = 0;
}

void
message_set_database(const char *database)
{
	run_database = database;
	pg_logging_set_locus_callback(tell_database);
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
static void tell(int level, int part, const char *format,...)
			pg_attribute_printf(3, 4);

static void tell_v(int level, int part, const char *format, va_list args)
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
tell_v(int level, int part, const char *format, va_list args)
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
tell_v(int level, int part, const char *format, va_list args)
{
	log_generic_v(level, part, format, args);
}

#endif							/* __GLIBC__ */

/* What the macros of common/logging.h would call. */
static void
tell(int level, int part, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	tell_v(level, part, format, args);
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
	message_guard_end();
	text = formatted(format, args);
	shown = printable_message(text);
	if (!findings_take(level, part, shown))
		tell(level, part, "%s", shown);
	if (level >= PG_LOG_WARNING)
		note(level, part, text);
	free(shown);
	free(text);
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

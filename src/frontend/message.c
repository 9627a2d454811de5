/*
 * message.c
 *		What is told on standard error goes through here.
 */
#include "fe_compat.h"

#include <unistd.h>

#include "event_log.h"

/* Messages come from anywhere, so this is the process's. */
static char next_sqlstate[6];
static void (*before_output) (void);
static pid_t before_output_owner;

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

static void note(int level, int part, const char *format, va_list args)
			pg_attribute_printf(3, 0);

/* The text without the newline that libpq's messages end in. */
static void
note(int level, int part, const char *format, va_list args)
{
	static const char *const keys[] = {"message", "detail", "hint"};
	Event	   *event;
	char		text[2048];
	int			save_errno = errno;

	event = event_new(level >= PG_LOG_ERROR ? "error" : "warning");
	if (event == NULL)
		return;
	errno = save_errno;
	vsnprintf(text, sizeof(text), format, args);
	for (size_t len = strlen(text); len > 0 && text[len - 1] == '\n'; len--)
		text[len - 1] = '\0';
	event_add_text(event, keys[part], text);
	if (part == MESSAGE_PRIMARY && next_sqlstate[0] != '\0')
		event_add_text(event, "sqlstate", next_sqlstate);
	event_write(event);
	errno = save_errno;
}

void
message_log(int level, int part, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	log_generic_v(level, part, format, args);
	va_end(args);
	if (level < PG_LOG_WARNING)
		return;
	va_start(args, format);
	note(level, part, format, args);
	va_end(args);
	if (part == MESSAGE_PRIMARY)
		next_sqlstate[0] = '\0';
}

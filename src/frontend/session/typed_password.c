/*
 * typed_password.c
 *		Passwords that the user types: asked for at most once for each server
 *		and role.
 *
 * simple_prompt() is not used, as a signal does not end it: a handler without
 * SA_RESTART makes it return an empty password, a signal that kills the
 * process leaves the terminal without echo, and one that comes just before
 * the read is noticed only after the next line.  Here signals are held back
 * except while the program waits for input.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include "libpq-fe.h"
#include "pqexpbuffer.h"

#include "base/identifier.h"
#include "base/interrupt.h"
#include "base/message.h"
#include "session/typed_password.h"

typedef struct TypedPassword
{
	struct TypedPassword *next;
	char	   *server;			/* server_and_role() */
	char	   *password;
} TypedPassword;

/* Forked processes inherit the list. */
static TypedPassword *passwords;

/* ----------
 * Which server and role
 * ----------
 */

/* As libpq does, ignore a parameter that is not set. */
static void
set_option(PQconninfoOption *options, const char *keyword, const char *value)
{
	if (value == NULL || value[0] == '\0')
		return;
	for (; options->keyword; options++)
		if (strcmp(options->keyword, keyword) == 0)
		{
			free(options->val);
			options->val = pg_strdup(value);
		}
}

static const char *
get_option(const PQconninfoOption *options, const char *keyword)
{
	for (; options->keyword; options++)
		if (strcmp(options->keyword, keyword) == 0)
			return options->val ? options->val : "";
	return "";
}

/*
 * The options that a connection with these parameters has, except that a
 * service in the connection string is only named.  PQconninfoFree() frees
 * them.
 */
static PQconninfoOption *
all_options(const ConnParams *params)
{
	PQconninfoOption *result = PQconndefaults();
	PQconninfoOption *given = NULL;

	if (result == NULL)
		pg_fatal("out of memory");
	set_option(result, "host", params->pghost);
	set_option(result, "port", params->pgport);
	set_option(result, "user", params->pguser);
	if (identifier_is_conninfo(params->dbname))
		given = PQconninfoParse(params->dbname, NULL);
	for (PQconninfoOption *option = given; option && option->keyword; option++)
		set_option(result, option->keyword, option->val);
	PQconninfoFree(given);
	return result;
}

/* Parameters with the same result share a password.  Owned. */
static char *
server_and_role(const PQconninfoOption *options)
{
	return psprintf("%s\n%s\n%s\n%s\n%s", get_option(options, "user"),
					get_option(options, "host"),
					get_option(options, "hostaddr"),
					get_option(options, "port"),
					get_option(options, "service"));
}

/*
 * A run may ask for passwords of several servers, so the prompt names the
 * server.  Owned.
 */
static char *
prompt_text(const PQconninfoOption *options, bool has_service)
{
	const char *host = get_option(options, "host");
	char	   *text;
	char	   *result;

	if (host[0] == '\0')
		host = get_option(options, "hostaddr");
	if (has_service)
		text = psprintf("Password for service %s: ",
						get_option(options, "service"));
	else if (host[0] == '\0')
		text = psprintf("Password for user %s (port %s): ",
						get_option(options, "user"),
						get_option(options, "port"));
	else
		text = psprintf("Password for user %s (host %s, port %s): ",
						get_option(options, "user"), host,
						get_option(options, "port"));
	result = pg_strdup(printable(text));
	free(text);
	return result;
}

/* ----------
 * The prompt
 * ----------
 */

/* Up to the end of the line or of the input.  Owned. */
static char *
read_line(int fd)
{
	PQExpBufferData buf;
	char		c;

	initPQExpBuffer(&buf);
	/* byte by byte, since the rest of standard input is not ours */
	while (interrupt_wait_input(fd))
	{
		ssize_t		n = read(fd, &c, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || c == '\n')
			break;
		appendPQExpBufferChar(&buf, c);
	}
	if (buf.len > 0 && buf.data[buf.len - 1] == '\r')
		buf.data[--buf.len] = '\0';
	return buf.data;
}

static void
write_text(int fd, const char *text)
{
	/* without a prompt the answer can be read anyway */
	if (write(fd, text, strlen(text)) < 0)
		return;
}

static char *
ask_on(int in, int out, const char *prompt)
{
	struct termios saved;
	struct termios silent;
	char	   *result;
	bool		is_terminal;

	message_before_output();
	interrupt_begin_prompt();
	is_terminal = tcgetattr(in, &saved) == 0;
	if (is_terminal)
	{
		silent = saved;
		silent.c_lflag &= ~ECHO;
		tcsetattr(in, TCSAFLUSH, &silent);
	}
	write_text(out, prompt);
	result = read_line(in);
	if (is_terminal)
	{
		tcsetattr(in, TCSAFLUSH, &saved);
		write_text(out, "\n");
	}
	interrupt_end_prompt();
	return result;
}

static int
open_terminal(void)
{
	return open("/dev/tty", O_RDWR | O_CLOEXEC);
}

/* NULL if there is no terminal and none is needed; owned. */
static char *
ask(const char *prompt, bool is_forced)
{
	int			tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	char	   *result = NULL;

	if (tty >= 0)
	{
		result = ask_on(tty, tty, prompt);
		close(tty);
	}
	else if (is_forced || isatty(STDIN_FILENO))
		result = ask_on(STDIN_FILENO, STDERR_FILENO, prompt);
	return result;
}

bool
typed_password_has_terminal(void)
{
	int			tty = open_terminal();

	if (tty >= 0)
		close(tty);
	return tty >= 0 || isatty(STDIN_FILENO);
}

/* ----------
 * What was typed
 * ----------
 */
const char *
typed_password_find(const ConnParams *params)
{
	PQconninfoOption *options;
	const char *result = NULL;
	char	   *server;

	if (passwords == NULL)
		return NULL;
	options = all_options(params);
	server = server_and_role(options);
	for (TypedPassword *typed = passwords; typed; typed = typed->next)
		if (strcmp(typed->server, server) == 0)
			result = typed->password;
	free(server);
	PQconninfoFree(options);
	return result;
}

const char *
typed_password_ask(const ConnParams *params)
{
	PQconninfoOption *options = all_options(params);
	PQconninfoOption *defaults = PQconndefaults();
	TypedPassword *typed = pg_malloc(sizeof(TypedPassword));
	char	   *prompt;
	bool		has_service;

	if (defaults == NULL)
		pg_fatal("out of memory");
	/* the values of a service in the environment are among the defaults */
	has_service = strcmp(get_option(options, "service"),
						 get_option(defaults, "service")) != 0;
	prompt = prompt_text(options, has_service);
	typed->server = server_and_role(options);
	typed->password = ask(prompt, params->prompt_password == TRI_YES);
	free(prompt);
	PQconninfoFree(options);
	PQconninfoFree(defaults);
	if (typed->password == NULL)
	{
		free(typed->server);
		free(typed);
		return NULL;
	}
	typed->next = passwords;
	passwords = typed;
	return typed->password;
}

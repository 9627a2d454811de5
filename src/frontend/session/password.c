/*
 * password.c
 *		Passwords for connections: typed by the user, printed by a command, or
 *		handed to programs.
 *
 * simple_prompt() is not used, because it does not handle signals: a handler
 * without SA_RESTART makes it return an empty password, a signal that kills
 * the process leaves the terminal without echo, and a signal that arrives
 * just before the read is noticed only after the next line.  Here signals are
 * blocked except while the program waits for input.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>

#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/identifier.h"
#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "process/child_program.h"
#include "session/password.h"

const char *
conninfo_value(const PQconninfoOption *options, const char *keyword)
{
	for (; options->keyword; options++)
		if (strcmp(options->keyword, keyword) == 0)
			return options->val && options->val[0] ? options->val : NULL;
	return NULL;
}

void
conninfo_append(PQExpBuffer buf, const char *keyword, const char *value)
{
	appendPQExpBuffer(buf, "%s%s=", buf->len > 0 ? " " : "", keyword);
	appendConnStrVal(buf, value);
}

bool
conninfo_is_one_of(const char *keyword, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(keyword, *words) == 0)
			return true;
	return false;
}

void
environment_set(const char *name, const char *value)
{
	if ((value ? setenv(name, value, 1) : unsetenv(name)) != 0)
		pg_fatal("could not set environment: %m");
}

/* ----------
 * Passwords that the user types
 * ----------
 */

typedef struct TypedPassword
{
	struct TypedPassword *next;
	char	   *server;			/* server_and_role() */
	char	   *password;
} TypedPassword;

/* Forked processes inherit the list. */
static TypedPassword *passwords;

/* ----------
 * The server and role of a password
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
	const char *value = conninfo_value(options, keyword);

	return value ? value : "";
}

/*
 * Return the options of a connection with these parameters.  The options of a
 * service that the connection string names are not among them.
 * PQconninfoFree() frees the result.
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

/*
 * Return a text for the server and role.  Parameters with the same text share
 * a password.  Owned.
 */
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
 * server.
 */
static const char *
prompt_text(const PQconninfoOption *options, bool has_service)
{
	const char *host = get_option(options, "host");
	const char *text;

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
	return printable(text);
}

/* ----------
 * The prompt
 * ----------
 */

/* Read up to the end of the line or of the input.  Owned. */
static char *
read_line(int fd)
{
	PQExpBufferData buf = buffer_new();
	char		c;

	/* byte by byte, as another program may read the rest of the input */
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
	/* if this fails, the answer can be read without a prompt */
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

		/*
		 * TCSAFLUSH discards characters that were typed before the prompt:
		 * they were not meant as a password, and were shown.
		 */
		tcsetattr(in, TCSAFLUSH, &silent);
	}
	write_text(out, prompt);
	result = read_line(in);
	if (is_terminal)
	{
		tcsetattr(in, TCSAFLUSH, &saved);
		write_text(out, "\n");
	}
	/* after the echo is back, as this may end the program */
	interrupt_end_prompt();
	return result;
}

/*
 * Ask for a password.  Returns NULL if there is no terminal, unless is_forced
 * is set; owned.
 */
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
	int			tty = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (tty >= 0)
		close(tty);
	return tty >= 0 || isatty(STDIN_FILENO);
}

/* ----------
 * The typed passwords
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
	return result;
}

const char *
typed_password_ask(const ConnParams *params)
{
	PQconninfoOption *options = all_options(params);
	PQconninfoOption *defaults = PQconndefaults();
	TypedPassword *typed = pg_malloc(sizeof(TypedPassword));
	bool		has_service;

	if (defaults == NULL)
		pg_fatal("out of memory");
	/* the values of a service in the environment are among the defaults */
	has_service = strcmp(get_option(options, "service"),
						 get_option(defaults, "service")) != 0;
	typed->server = server_and_role(options);
	typed->password = ask(prompt_text(options, has_service),
						  params->prompt_password == TRI_YES);
	if (typed->password == NULL)
		return NULL;

	/*
	 * An empty answer is kept, too.  So the user is not asked again for each
	 * worker's connection, and each fails with the server's message.
	 */
	typed->next = passwords;
	passwords = typed;
	return typed->password;
}

/* ----------
 * Passwords that a command prints, and files for programs
 * ----------
 */

/* The longest password, plus one.  Tokens have some thousand bytes. */
#define PASSWORD_BYTES 32768

/* The number of bytes of the command's standard error that are kept. */
#define WORDS_BYTES 2000

/* The shortest interval of runs, and the interval while a program runs. */
#define RUN_AGAIN_MS 1000
#define TICK_MS (60 * 1000)

/*
 * The interval of checks whether the command, or that of another process, has
 * ended.
 */
#define LOOK_MS 10

/*
 * The number of reads after the end of the command, of up to 4 kB each: more
 * than a pipe can contain.  There is a limit because a process that the
 * command has left behind may write forever.
 */
#define LAST_READS 256

/* The longest run, unless PGCONNECT_TIMEOUT is set. */
#define TIMEOUT_S 30

/* In shared memory.  The process that has the lock accesses the rest. */
typedef struct LastRun
{
	pthread_mutex_t lock;
	int64		ended_at;		/* clock_monotonic_ms(); 0 = it has not run */
	bool		failed;
	char		failure[WORDS_BYTES + 200];
	char		password[PASSWORD_BYTES];	/* the last output */
} LastRun;

struct PasswordCommand
{
	PasswordCommand *next;
	char	   *text;
	int			file;
	LastRun    *last;
	char	   *password;		/* the last results in this process */
	char	   *failure;
};

/* A run of the command. */
typedef struct CommandRun
{
	pid_t		pid;
	int			out_fd;			/* -1 once closed */
	int			err_fd;
	PQExpBufferData out;		/* its output, up to PASSWORD_BYTES */
	PQExpBufferData err;		/* the beginning of its standard error */
} CommandRun;

static PasswordCommand *commands;

/* ----------
 * Files for programs
 * ----------
 */

/*
 * Write a passfile.  Its line has "*" for the host, which matches any host,
 * because libpq compares different names depending on addresses, sockets and
 * lists of hosts (fe-connect.c:passwordFromFile).  A program may be reading
 * the file, so it is written with one call and never becomes shorter: empty
 * lines, which libpq ignores, fill it up.
 */
static void
write_file(int fd, const char *password)
{
	PQExpBufferData text = buffer_new();
	off_t		size = lseek(fd, 0, SEEK_END);

	appendPQExpBufferStr(&text, "*:*:*:*:");
	for (const char *p = password; *p; p++)
	{
		if (*p == '\\' || *p == ':')
			appendPQExpBufferChar(&text, '\\');
		appendPQExpBufferChar(&text, *p);
	}
	do
		appendPQExpBufferChar(&text, '\n');
	while ((off_t) text.len < size);
	if (pwrite(fd, buffer_text(&text), text.len, 0) != (ssize_t) text.len)
		pg_fatal("could not write in-memory file: %m");
	termPQExpBuffer(&text);
}

/*
 * Create a file in memory.  libpq accepts only regular files that no other
 * user may read.
 */
static int
new_file(void)
{
	int			fd = memfd_create("pg_pardump passfile", MFD_CLOEXEC);

	if (fd < 0)
		pg_fatal("could not create in-memory file: %m");
	if (fchmod(fd, S_IRUSR | S_IWUSR) < 0)
		pg_fatal("could not set permissions of in-memory file: %m");
	return fd;
}

int
password_file_new(const char *password)
{
	int			fd = new_file();

	/* these characters would end the line of the passfile */
	if (strpbrk(password, "\r\n") != NULL)
		pg_fatal("the password contains a newline or carriage return");
	write_file(fd, password);
	return fd;
}

/* ----------
 * The command's process
 * ----------
 */

/* Return libpq's timeout; if there is none, the command has one anyway. */
static int
timeout_s(void)
{
	const char *given = getenv("PGCONNECT_TIMEOUT");
	int			result = given ? atoi(given) : 0;

	return result > 0 ? result : TIMEOUT_S;
}

static void
start_command(CommandRun *run, const char *text)
{
	const char *args[] = {"sh", "-c", text, NULL};
	int			nothing = open(DEVNULL, O_RDONLY | O_CLOEXEC);
	int			out[2];
	int			err[2];

	if (nothing < 0)
		pg_fatal("could not open file \"%s\": %m", DEVNULL);
	child_program_pipe(out);
	child_program_pipe(err);
	run->pid = child_program_start_asked("/bin/sh", args, nothing, out[1],
										 err[1]);
	if (run->pid < 0)
		pg_fatal("could not create child process: %m");
	close(nothing);
	close(out[1]);
	close(err[1]);
	run->out_fd = out[0];
	run->err_fd = err[0];
	initPQExpBuffer(&run->out);
	initPQExpBuffer(&run->err);
}

/*
 * Read some bytes, and close the file at its end.  Bytes beyond the limit are
 * discarded.
 */
static void
read_some(int *fd, PQExpBuffer buf, size_t limit)
{
	char		bytes[4096];
	ssize_t		got = read(*fd, bytes, sizeof(bytes));

	if (got < 0 && errno == EINTR)
		return;
	if (got <= 0)
	{
		close(*fd);
		*fd = -1;
		return;
	}
	appendBinaryPQExpBuffer(buf, bytes, Min((size_t) got, limit - buf->len));
	memset(bytes, 0, sizeof(bytes));
}

/* Read the available output.  Returns false if none arrives for wait_ms. */
static bool
hear_command(CommandRun *run, int wait_ms)
{
	struct pollfd fds[2] = {
		{.fd = run->out_fd,.events = POLLIN},
		{.fd = run->err_fd,.events = POLLIN}
	};

	if (poll(fds, 2, wait_ms) <= 0)
		return false;
	if (fds[0].revents)
		read_some(&run->out_fd, &run->out, PASSWORD_BYTES);
	if (fds[1].revents)
		read_some(&run->err_fd, &run->err, WORDS_BYTES);
	return true;
}

/*
 * Wait until the shell has ended, and not until the end of its output, which
 * a process that it has left behind may keep open.  Returns NULL, or an error
 * (owned).
 */
static char *
wait_for_command(CommandRun *run)
{
	int64		until = clock_monotonic_ms() + timeout_s() * 1000L;
	int			status = 0;
	pid_t		gone = 0;

	while (gone == 0)
	{
		interrupt_check();
		(void) hear_command(run, LOOK_MS);
		gone = waitpid(run->pid, &status, WNOHANG);
		if (gone < 0 && errno == EINTR)
			gone = 0;
		if (gone < 0)
			pg_fatal("could not wait for child process: %m");
		if (gone == 0 && clock_monotonic_ms() > until)
			return psprintf("password command did not exit within %d s", timeout_s());
	}
	for (int i = 0; i < LAST_READS && (run->out_fd >= 0 || run->err_fd >= 0) &&
		 hear_command(run, 0); i++)
		;
	return status == 0 ? NULL :
		psprintf("password command failed: %s", wait_result_to_str(status));
}

/*
 * Truncate the output to its first line, without the newline.  Returns NULL,
 * or an error (owned).
 */
static char *
check_output(PQExpBuffer out)
{
	char	   *newline = memchr(buffer_text(out), '\n', out->len);

	if (newline)
		out->len = newline - out->data;
	else if (out->len >= PASSWORD_BYTES)
		return psprintf("the output of the password command is longer than %d bytes",
						PASSWORD_BYTES - 1);
	if (out->len > 0 && out->data[out->len - 1] == '\r')
		out->len--;
	out->data[out->len] = '\0';
	if (strlen(out->data) != out->len)
		return pg_strdup("the output of the password command contains a zero byte");
	return out->len > 0 ? NULL :
		pg_strdup("the output of the password command is empty");
}

/* Record the error, with the messages of the command. */
static void
password_command_note_failure(LastRun *last, const char *problem, PQExpBuffer err)
{
	char	   *words;

	while (err->len > 0 && strchr("\r\n", err->data[err->len - 1]))
		err->data[--err->len] = '\0';
	words = printable_message(err->data);
	snprintf(last->failure, sizeof(last->failure), *words ? "%s: %s" : "%s",
			 problem, words);
	free(words);
}

/*
 * Run the command.  Its output is kept in shared memory and in the file, and
 * removed from all other memory.
 */
static void
run_command(PasswordCommand *command)
{
	LastRun    *last = command->last;
	CommandRun	run;
	char	   *problem;

	/*
	 * If this process is killed from here on, the next process that gets the
	 * lock finds that the command has not run, and runs it.
	 */
	last->ended_at = 0;
	start_command(&run, command->text);
	problem = wait_for_command(&run);

	/*
	 * The shell has its own process group, so this also ends processes that
	 * the command has left in the background.  Such a process might keep the
	 * pipe open, or prompt the user later.
	 */
	child_process_end_asked(run.pid);
	if (run.out_fd >= 0)
		close(run.out_fd);
	if (run.err_fd >= 0)
		close(run.err_fd);
	if (problem == NULL)
		problem = check_output(&run.out);
	if (problem)
		password_command_note_failure(last, problem, &run.err);
	else if (strcmp(last->password, run.out.data) != 0)
	{
		strlcpy(last->password, run.out.data, PASSWORD_BYTES);
		write_file(command->file, last->password);
	}
	last->failed = problem != NULL;
	last->ended_at = clock_monotonic_ms();

	/*
	 * Overwrite the password: termPQExpBuffer() would leave it in memory that
	 * is used again.
	 */
	memset(run.out.data, 0, run.out.maxlen);
	termPQExpBuffer(&run.out);
	termPQExpBuffer(&run.err);
	free(problem);
}

/* ----------
 * The command's output, for connections and programs
 * ----------
 */
PasswordCommand *
password_command_get(const char *text)
{
	PasswordCommand *command = commands;

	while (command && text && strcmp(command->text, text) != 0)
		command = command->next;
	if (command || text == NULL)
		return text ? command : NULL;
	command = pg_malloc0(sizeof(PasswordCommand));
	command->text = pg_strdup(text);
	command->file = new_file();
	command->last = shared_memory_new(1, sizeof(LastRun));
	robust_mutex_init(&command->last->lock);
	command->next = commands;
	commands = command;
	return command;
}

static bool
is_older(const LastRun *last, int64 ms)
{
	return last->ended_at == 0 || clock_monotonic_ms() - last->ended_at >= ms;
}

const char *
password_command_run(PasswordCommand *command, const char **failure)
{
	LastRun    *last = command->last;
	bool		failed;

	/* another process may have the lock for long: check for signals */
	while (!robust_mutex_hold(&last->lock, false))
	{
		interrupt_check();
		pg_usleep(LOOK_MS * 1000L);
	}
	if (is_older(last, RUN_AGAIN_MS))
		run_command(command);
	free(command->password);
	free(command->failure);
	command->password = pg_strdup(last->password);
	command->failure = pg_strdup(last->failure);
	failed = last->failed;

	/*
	 * This process returns its own copies, because another process may run
	 * the command as soon as the lock is free.
	 */
	pthread_mutex_unlock(&last->lock);
	*failure = failed ? command->failure : NULL;
	return failed ? NULL : command->password;
}

const char *
password_command_first(const char *text)
{
	const char *failure;
	const char *password;

	if (text == NULL)
		return NULL;

	/*
	 * Signals are only recorded during the command.  One that killed this
	 * process would leave the processes of the command behind, and Ctrl-C
	 * does not reach them, as they have their own session.
	 */
	interrupt_begin_notes();
	password = password_command_run(password_command_get(text), &failure);
	interrupt_end_notes();
	if (password == NULL)
		pg_fatal("%s", failure);
	return password;
}

int
password_command_file(const PasswordCommand *command)
{
	return command->file;
}

void
password_command_tick(PasswordCommand *command)
{
	const char *failure;

	/* without the lock, a change may be noticed a moment too late */
	if (command && is_older(command->last, TICK_MS) &&
		password_command_run(command, &failure) == NULL)
		pg_log_warning("%s", failure);
}

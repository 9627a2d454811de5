/*
 * child_program.c
 *		Finds, starts and ends other programs, and reads their standard error.
 *
 * A program may be connected for hours, so it must neither outlive this
 * process nor show a secret: secrets are handed over in files in memory, not
 * in argv, which other users can read.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "base/interrupt.h"
#include "process/child_program.h"
#include "process/this_program.h"

/* ----------
 * The ends of child processes: awaited, asked for, and enforced.
 * ----------
 */

/* How long a child may take to end after SIGTERM, and how often to check. */
#define END_CHILDREN_MS 5000
#define END_CHILDREN_LOOK_MS 5

/* How often to check whether a program has ended. */
#define END_LOOK_MS 20

/* Static, because signal handlers and exit callbacks have no argument. */
static volatile pid_t fed_child;
static volatile pid_t own_asked[CHILD_PROCESS_MOST_ASKED];
static volatile pid_t *asked_children = own_asked;
static pid_t fed_by;			/* the process whose children they are */

/* Reap a child if it has ended.  Without WNOHANG, wait for its end. */
static bool
reap(pid_t *pid, int options)
{
	pid_t		gone;

	if (*pid == 0)
		return true;
	do
		gone = waitpid(*pid, NULL, options);
	while (gone < 0 && errno == EINTR);
	if (gone == 0)
		return false;
	*pid = 0;
	return true;
}

bool
child_process_is_gone(pid_t *pid)
{
	return reap(pid, WNOHANG);
}

/*
 * Has the child ended?  It is not reaped, so that no other process or group
 * can get its number.
 */
static bool
has_ended(pid_t pid)
{
	siginfo_t	info = {0};

	if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 &&
		errno != EINTR)
		pg_fatal("could not wait for child process: %m");
	return info.si_pid == pid;
}

/* Wait up to wait_ms for the end of a child, which is not reaped. */
static bool
ends_within(pid_t pid, int wait_ms)
{
	struct timespec wait = {.tv_sec = wait_ms / 1000,.tv_nsec = wait_ms % 1000 * 1000000L};
	sigset_t	child;
	sigset_t	before;
	bool		ended;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);

	/*
	 * If the child ends after this check, the blocked signal is pending, and
	 * sigtimedwait() returns at once.
	 */
	ended = has_ended(pid);
	if (!ended && sigtimedwait(&child, NULL, &wait) == SIGCHLD)
		ended = has_ended(pid);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ended;
}

bool
child_process_wait(pid_t pid, int *status, int wait_ms)
{
	return ends_within(pid, wait_ms) && waitpid(pid, status, WNOHANG) == pid;
}

void
child_process_end_all(pid_t *pids, int n_pids)
{
	int			waited_ms = 0;

	/* Signal all of them first, so that they end at the same time. */
	for (int i = 0; i < n_pids; i++)
	{
		if (pids[i] == 0)
			continue;

		/*
		 * The signal is pending until SIGCONT lets a stopped process handle
		 * it.
		 */
		kill(pids[i], SIGTERM);
		kill(pids[i], SIGCONT);
	}
	/* The time limit is for all of them together. */
	for (int i = 0; i < n_pids; i++)
	{
		while (!reap(&pids[i], WNOHANG) && waited_ms < END_CHILDREN_MS)
		{
			pg_usleep(END_CHILDREN_LOOK_MS * 1000L);
			waited_ms += END_CHILDREN_LOOK_MS;
		}
		if (pids[i] != 0)
		{
			kill(pids[i], SIGKILL);
			reap(&pids[i], 0);
		}
	}
}

void
child_process_end(void *pid)
{
	child_process_end_all(pid, 1);
}

/* ----------
 * The command of --pipe
 * ----------
 */

/* Safe in a handler. */
static void
kill_group(pid_t pid)
{
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);			/* should it not be a group's leader yet */
	kill(-pid, SIGKILL);		/* or have become it just now */
}

/*
 * Use SIGKILL: a process that survived a weaker signal would see the end of
 * its input next.  The remaining processes of the group become children of
 * this process, which is a subreaper.
 */
void
child_process_end_fed(void)
{
	static const char message[] = "pg_pardump: error: could not end a command of --pipe\n";
	pid_t		pid = fed_child;
	pid_t		gone;
	ssize_t		written pg_attribute_unused();

	if (fed_by != getpid())
		return;
	for (int i = 0; i < CHILD_PROCESS_MOST_ASKED; i++)
		if (asked_children[i] != 0)
			kill_group(asked_children[i]);
	if (pid == 0)
		return;
	kill_group(pid);
	for (int waited_ms = 0; waited_ms < END_CHILDREN_MS;)
	{
		gone = waitpid(-pid, NULL, WNOHANG);
		if (gone < 0 && errno != EINTR)
		{
			/* no process of the group is left */
			fed_child = 0;
			return;
		}
		if (gone != 0)
			continue;
		pg_usleep(END_CHILDREN_LOOK_MS * 1000L);
		waited_ms += END_CHILDREN_LOOK_MS;
	}
	written = write(STDERR_FILENO, message, strlen(message));
	if (!cleanup_is_mine())
		_exit(1);				/* a worker must not be replaced now */
}

void
child_process_adopt_orphans(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Prepare this process for such children, before its first one. */
static void
begin_process(void)
{
	if (fed_by == getpid())
		return;

	/*
	 * A forked child inherits what was registered, which is why each process
	 * notes whose children these are, and registers the callback itself.
	 */
	atexit(child_process_end_fed);
	/* what a command leaves behind becomes this process's to reap */
	child_process_adopt_orphans();
	fed_child = 0;
	for (int i = 0; i < CHILD_PROCESS_MOST_ASKED; i++)
		asked_children[i] = 0;
	fed_by = getpid();
}

void
child_process_set_fed(pid_t pid)
{
	begin_process();
	fed_child = pid;
}

static void
replace_asked(pid_t before, pid_t after)
{
	for (int i = 0; i < CHILD_PROCESS_MOST_ASKED; i++)
		if (asked_children[i] == before)
		{
			asked_children[i] = after;
			return;
		}
}

/* Returns a free place for a child whose output this process waits for. */
static volatile pid_t *
asked_slot(void)
{
	begin_process();
	for (int i = 0; i < CHILD_PROCESS_MOST_ASKED; i++)
		if (asked_children[i] == 0)
			return &asked_children[i];
	return NULL;
}

/* Returns the place for the child that reads from this process. */
static volatile pid_t *
fed_slot(void)
{
	begin_process();
	return &fed_child;
}

/* End the group of a child, and return the child's status of waitpid(). */
static int
end_group(pid_t pid)
{
	int			status = 0;

	kill(-pid, SIGKILL);

	/*
	 * If the child was reaped before, its number may be another process's.
	 * Else it may not be its group's leader yet.
	 */
	if (waitpid(pid, &status, WNOHANG) == 0)
		kill_group(pid);

	/*
	 * Reap until the group has no process.  A process of another user may
	 * remain, so the wait is limited.
	 */
	for (int waited_ms = 0; waited_ms < END_CHILDREN_MS;)
	{
		pid_t		gone = waitpid(-pid, NULL, WNOHANG);

		if (gone < 0 && errno != EINTR)
			break;
		if (gone != 0)
			continue;
		pg_usleep(END_CHILDREN_LOOK_MS * 1000L);
		waited_ms += END_CHILDREN_LOOK_MS;
	}
	replace_asked(pid, 0);
	return status;
}

void
child_process_end_asked(pid_t pid)
{
	(void) end_group(pid);
}

void
child_process_note_asked(volatile pid_t *notes)
{
	asked_children = notes;
}

/* Does waitid() find such a child of this process? */
static bool
has_child(idtype_t type, pid_t id)
{
	siginfo_t	info;

	return waitid(type, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/*
 * The noted child, and orphans of its group, are children of this process by
 * now.  If there are none, the child was reaped before its parent died, and
 * its number may be another process's.
 */
void
child_process_end_orphans(volatile pid_t *notes)
{
	for (int i = 0; i < CHILD_PROCESS_MOST_ASKED; i++)
	{
		pid_t		pid = notes[i];

		if (pid != 0 && (has_child(P_PID, pid) || has_child(P_PGID, pid)))
			(void) end_group(pid);
		notes[i] = 0;
	}
}

bool
child_process_wait_asked(pid_t pid, int *status, int wait_ms)
{
	if (!ends_within(pid, wait_ms))
		return false;
	*status = end_group(pid);
	return true;
}

/* ----------
 * Reads the standard error of other programs.
 * ----------
 */

/* Show a line.  Empty lines belong to a message if more of it follows. */
static void
show_text(ProgramWords *words, const char *line)
{
	const char *message = text_after(line, words->prefix);
	bool		begins = message != NULL;

	if (message && text_after(message, "warning: "))
		findings_count_warning();
	message_before_output();
	for (; !begins && words->n_blank > 0; words->n_blank--)
		fprintf(stderr, "\t\n");
	words->n_blank = 0;
	if (words->n_lines++ == 0 && !begins)
		fprintf(stderr, "%s%s\n", words->prefix, printable(line));
	else
		fprintf(stderr, "%s%s\n", begins ? "" : "\t", printable(line));
}

static void
show_line(ProgramWords *words)
{
	const char *line = buffer_text(&words->line);
	const char *name = line[0] == '/' ? strstr(line, words->prefix) : NULL;
	Event	   *event;

	if (words->counted && text_after(line, words->counted))
		words->n_counted++;
	if (words->left_out && text_after(line, words->left_out))
	{
		resetPQExpBuffer(&words->line);
		return;
	}
	if (words->line.len == 0)
	{
		words->n_blank += words->n_lines > 0 ? 1 : 0;
		return;
	}
	if (words->said)
		appendPQExpBuffer(words->said, "%s\n", line);
	/* getopt_long() names the program by its path: without the directory */
	show_text(words, name && name[-1] == '/' ? name : line);
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

		/*
		 * At the end, the last line may lack its newline: closing shows it.
		 */
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

int
program_words_wait(ProgramWords *words, pid_t *pid)
{
	int			status;

	/* A program usually ends just after it has closed its standard error. */
	while (!child_process_wait(*pid, &status, words->fd >= 0 ? 0 : END_LOOK_MS))
	{
		interrupt_check();
		program_words_hear(words, END_LOOK_MS, true);
	}
	*pid = 0;
	program_words_hear(words, 0, true);
	program_words_close(words);
	return status;
}

/* ----------
 * Finds and starts other programs.
 * ----------
 */

/* Is it a regular file that this user may execute? */
static bool
is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		access(path, X_OK) == 0;
}

char *
child_program_beside(const char *path, const char *name)
{
	char	   *directory = pg_strdup(path);
	char	   *result;

	get_parent_directory(directory);
	result = psprintf("%s/%s", *directory ? directory : ".", name);
	return is_executable(result) ? result : NULL;
}

char *
child_program_search(const char *name)
{
	const char *path = getenv("PATH");
	char	   *rest;

	if (path == NULL)
		return NULL;
	rest = pg_strdup(path);
	while (rest)
	{
		char	   *dir = rest;
		char	   *candidate;

		rest = strchr(dir, ':');
		if (rest)
			*rest++ = '\0';
		candidate = psprintf("%s/%s", *dir ? dir : ".", name);
		if (is_executable(candidate))
			return candidate;
	}
	return NULL;
}

char *
child_program_find(const char *argv0, const char *name)
{
	char		self[MAXPGPATH];
	char	   *path = NULL;

	if (find_my_exec(argv0, self) == 0)
		path = child_program_beside(self, name);
	return path ? path : child_program_search(name);
}

char *
child_program_choose(const char *given, const char *argv0, const char *name,
					 const char *option)
{
	char	   *path;

	if (given)
	{
		if (!is_executable(given))
			pg_fatal("program \"%s\" does not exist or is not executable", given);
		return pg_strdup(given);
	}
	path = child_program_find(argv0, name);
	if (path == NULL)
	{
		pg_log_error("program \"%s\" was found neither in the directory of %s nor in PATH",
					 name, this_program_name());
		pg_fatal_hint("Install PostgreSQL's client programs, or use %s to specify the program.",
					  option);
	}
	return path;
}

void
child_program_pipe(int fds[2])
{
	/*
	 * Without FD_CLOEXEC every program that is started later would hold the
	 * write end open too, and the reader would wait for its end.
	 */
	if (pipe(fds) < 0 || fcntl(fds[0], F_SETFD, FD_CLOEXEC) < 0 ||
		fcntl(fds[1], F_SETFD, FD_CLOEXEC) < 0)
		pg_fatal("could not create pipe: %m");
}

/*
 * In the child: let the program inherit a file in memory, and name the file
 * in its environment.  libpq opens the file for each connection, each time
 * from the beginning (proc(5), /proc/PID/fd).
 */
static void
export_file(const char *variable, int fd)
{
	char		path[32];

	if (fcntl(fd, F_SETFD, 0) < 0)
	{
		fprintf(stderr, "error: could not pass on in-memory file: %s\n",
				strerror(errno));
		_exit(1);
	}
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	setenv(variable, path, 1);
}

/*
 * In the child: hand over what argv would show to all.  The password is in a
 * file, not in PGPASSWORD, as it may change while the program runs.
 */
static void
export_secrets(const ChildSecrets *secrets)
{
	int			fd;

	if (secrets->password_file)
	{
		export_file("PGPASSFILE", secrets->password_file);
		unsetenv("PGPASSWORD"); /* it would come first */
	}
	if (secrets->service_pipe)
		export_file("PGSERVICEFILE", secrets->service_pipe);
	else if (secrets->service)
	{
		fd = memfd_create("pg_pardump service", MFD_CLOEXEC);
		if (fd < 0 ||
			write(fd, secrets->service, strlen(secrets->service)) !=
			(ssize_t) strlen(secrets->service))
		{
			fprintf(stderr, "error: could not write in-memory file: %s\n",
					strerror(errno));
			_exit(1);
		}
		export_file("PGSERVICEFILE", fd);
	}
	else
		return;
	setenv("PGSERVICE", CHILD_SERVICE, 1);
}

/*
 * Messages are recognized by their untranslated text, so set LC_MESSAGES.
 * The encoding of the locale must stay: it is the client encoding "auto".
 * LC_ALL would override both, so its value is moved to LANG and LC_CTYPE.
 */
static void
set_own_language(void)
{
	const char *all = getenv("LC_ALL");

	if (all && all[0] != '\0')
	{
		setenv("LANG", all, 1);
		setenv("LC_CTYPE", all, 1);
	}
	unsetenv("LC_ALL");
	setenv("LC_MESSAGES", "C", 1);
}

/*
 * In the child of fork(): change the environment for a program that has a
 * connection, and whose messages are read.
 */
static void
prepare_program(const ChildSecrets *secrets, int err_fd)
{
	set_own_language();

	/* color codes in messages that are read would be shown as escapes */
	if (err_fd >= 0)
		unsetenv("PG_COLOR");
	if (secrets)
		export_secrets(secrets);
}

/*
 * In the child: become the program.  After vfork(), this must not change any
 * memory, as it is the parent's.
 */
static void
child_program_run(const char *path, const char **args, char **environment,
				  int in_fd, int out_fd, int err_fd)
{
	char		text[MAXPGPATH + 256];
	ssize_t		written pg_attribute_unused();

	if (in_fd >= 0)
	{
		/* a group to be ended together; nor may it wait for a terminal */
		setsid();
		dup2(in_fd, STDIN_FILENO);
	}
	if (out_fd >= 0)
		dup2(out_fd, STDOUT_FILENO);
	if (err_fd >= 0)
		dup2(err_fd, STDERR_FILENO);
	execve(path, (char *const *) args, environment);

	/*
	 * The parent adds the program's name.  This is not dprintf(), which adds
	 * its stream to the list of all streams and allocates memory: if a signal
	 * ended the child in the middle, the parent's list would be damaged.
	 */
	snprintf(text, sizeof(text), "error: could not execute \"%s\": %s\n",
			 path, strerror(errno));
	written = write(STDERR_FILENO, text, strlen(text));
	_exit(127);
}

/* A copy of the environment without PG_COLOR.  To be freed. */
static char **
environment_without_color(void)
{
	int			n = 0;
	char	  **copy;

	while (environ[n])
		n++;
	copy = pg_malloc((n + 1) * sizeof(char *));
	n = 0;
	for (char **variable = environ; *variable; variable++)
	{
		if (strncmp(*variable, "PG_COLOR=", strlen("PG_COLOR=")) != 0)
			copy[n++] = *variable;
	}
	copy[n] = NULL;
	return copy;
}

/*
 * Run the program in a process of its own.  The process ID is in *slot,
 * unless that is NULL, before a signal handler can run.  Returns -1 if no
 * process can be created.
 *
 * A program that reads from in_fd needs no connection.  As there may be one
 * for each file of an archive, it is started by vfork(): fork() would copy
 * the page tables of this process, whose next accesses to its memory would
 * then cause page faults.
 */
static pid_t
start(const char *path, const char **args, const ChildSecrets *secrets,
	  int in_fd, int out_fd, int err_fd, volatile pid_t *slot)
{
	pid_t		pid;
	pid_t		parent = getpid();
	bool		is_command = in_fd >= 0;
	char	  **environment = is_command && err_fd >= 0 ?
		environment_without_color() : NULL;

	/*
	 * What is buffered would be written by both processes.  A signal that
	 * comes between fork() and the reset of the handlers would run ours in
	 * the child, which would cancel the statement of its parent.
	 */
	fflush(NULL);
	interrupt_hold_signals();
	pid = is_command ? vfork() : fork();
	if (pid == 0)
	{
		interrupt_reset_signals();
		interrupt_release_signals();

		/*
		 * The parent may be killed before it notes the child.  If the slot is
		 * in shared memory, the leader finds the child there, or the child
		 * finds next that its parent has ended.
		 */
		if (slot)
			*slot = getpid();
		/* execve() keeps this */
		interrupt_end_with(parent);
		if (!is_command)
			prepare_program(secrets, err_fd);
		child_program_run(path, args, environment ? environment : environ,
						  in_fd, out_fd, err_fd);
	}
	/* a handler may end this process as soon as it is let */
	if (pid > 0 && slot)
		*slot = pid;
	interrupt_release_signals();
	free(environment);
	return pid;
}

/* The same, but exits with a message on failure. */
static pid_t
must_start(const char *path, const char **args, const ChildSecrets *secrets,
		   int in_fd, int out_fd, int err_fd, volatile pid_t *slot)
{
	pid_t		pid = start(path, args, secrets, in_fd, out_fd, err_fd, slot);

	if (pid < 0)
		pg_fatal("could not create child process: %m");
	return pid;
}

pid_t
child_program_start(const char **args, const ChildSecrets *secrets, int out_fd,
					ProgramWords *words, const char *prefix)
{
	const ProgramWords none = {.prefix = prefix,.line = buffer_new()};
	int			err[2];
	pid_t		pid;

	child_program_pipe(err);
	pid = must_start(args[0], args, secrets, -1, out_fd, err[1], NULL);
	close(err[1]);
	*words = none;
	words->fd = err[0];
	return pid;
}

pid_t
child_program_start_reading(const char *path, const char **args, int in_fd,
							int out_fd, int err_fd)
{
	return must_start(path, args, NULL, in_fd, out_fd, err_fd,
					  fed_slot());
}

pid_t
child_program_start_asked(const char *path, const char **args, int in_fd,
						  int out_fd, int err_fd)
{
	return start(path, args, NULL, in_fd, out_fd, err_fd,
				 asked_slot());
}

/*
 * child_program.c
 *		Finds and starts other programs.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/interrupt.h"
#include "process/child_process.h"
#include "process/child_program.h"

bool
child_program_is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		access(path, X_OK) == 0;
}

char *
child_program_search(const char *name)
{
	const char *path = getenv("PATH");
	char	   *dirs;
	char	   *rest;

	if (path == NULL)
		return NULL;
	rest = dirs = pg_strdup(path);
	while (rest)
	{
		char	   *dir = rest;
		char	   *candidate;

		rest = strchr(dir, ':');
		if (rest)
			*rest++ = '\0';
		candidate = psprintf("%s/%s", *dir ? dir : ".", name);
		if (child_program_is_executable(candidate))
		{
			free(dirs);
			return candidate;
		}
		free(candidate);
	}
	free(dirs);
	return NULL;
}

char *
child_program_find(const char *argv0, const char *name)
{
	char		self[MAXPGPATH];
	char	   *path;

	if (find_my_exec(argv0, self) == 0)
	{
		*last_dir_separator(self) = '\0';
		path = psprintf("%s/%s", self, name);
		if (child_program_is_executable(path))
			return path;
		free(path);
	}
	return child_program_search(name);
}

void
child_program_pipe(int fds[2])
{
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
		fprintf(stderr, "could not pass on a file in memory: %s\n",
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
	if (secrets->service == NULL)
		return;
	fd = memfd_create("pg_pardump service", MFD_CLOEXEC);
	if (fd < 0 ||
		write(fd, secrets->service, strlen(secrets->service)) !=
		(ssize_t) strlen(secrets->service))
	{
		fprintf(stderr, "could not write a file in memory: %s\n",
				strerror(errno));
		_exit(1);
	}
	export_file("PGSERVICEFILE", fd);
	setenv("PGSERVICE", CHILD_SERVICE, 1);
}

/*
 * What it says is told apart by its own words, not translated ones.  Its
 * locale's encoding is what "auto" means for that of a client: LC_ALL, which
 * is for both, gives way to what stands behind it.
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

/* In the child: become the program. */
static void
run(const char *path, const char **args, const ChildSecrets *secrets,
	int in_fd, int out_fd, int err_fd)
{
	if (in_fd >= 0)
	{
		/* a group to be ended together; nor may it wait for a terminal */
		setsid();
		dup2(in_fd, STDIN_FILENO);
	}
	else
		set_own_language();
	if (out_fd >= 0)
		dup2(out_fd, STDOUT_FILENO);
	if (err_fd >= 0)
	{
		/*
		 * what is read there is no terminal's, so that colours would be
		 * escaped
		 */
		unsetenv("PG_COLOR");
		dup2(err_fd, STDERR_FILENO);
	}
	if (secrets)
		export_secrets(secrets);
	execv(path, (char *const *) args);
	fprintf(stderr, "could not execute \"%s\": %s\n", path, strerror(errno));
	_exit(127);
}

/* note, unless it is NULL, is told the process before a signal can come. */
static pid_t
start(const char *path, const char **args, const ChildSecrets *secrets,
	  int in_fd, int out_fd, int err_fd, void (*note) (pid_t pid))
{
	pid_t		pid;
#ifdef __linux__
	pid_t		parent = getpid();
#endif

	fflush(NULL);
	interrupt_hold_signals();
	pid = fork();
	if (pid == 0)
	{
		interrupt_reset_signals();
		interrupt_release_signals();
#ifdef __linux__
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(1);
#endif
		run(path, args, secrets, in_fd, out_fd, err_fd);
	}
	/* a handler may end this process as soon as it is let */
	if (pid > 0 && note)
		note(pid);
	interrupt_release_signals();
	if (pid < 0)
		pg_fatal("could not create child process: %m");
	return pid;
}

pid_t
child_program_start(const char *path, const char **args,
					const ChildSecrets *secrets, int out_fd, int err_fd)
{
	return start(path, args, secrets, -1, out_fd, err_fd, NULL);
}

pid_t
child_program_start_reading(const char *path, const char **args, int in_fd,
							int out_fd, int err_fd)
{
	return start(path, args, NULL, in_fd, out_fd, err_fd,
				 child_process_set_fed);
}

pid_t
child_program_start_asked(const char *path, const char **args, int in_fd,
						  int out_fd, int err_fd)
{
	return start(path, args, NULL, in_fd, out_fd, err_fd,
				 child_process_set_asked);
}

/*
 * this_program.c
 *		Starts and ends this program: clock, standard files, messages,
 *		signals.
 */
#include "base/fe_compat.h"

#include <locale.h>
#include <signal.h>

#include "base/clock.h"
#include "process/this_program.h"

static const char *program_name;
static const char *program_argv0;

void
this_program_begin(const char *argv0, const char *name)
{
	int			fd;

	program_name = name;
	program_argv0 = argv0;

	/*
	 * Start the clock first, because all times are counted from there; then
	 * check the standard files, before another file is opened.  Messages need
	 * their level before the first one is shown.
	 */
	run_clock_start();

	/*
	 * If standard files are closed, the next files that are opened would get
	 * their numbers, and would receive printed text.  So open them in such a
	 * way that writing fails.
	 */
	do
		fd = open(DEVNULL, O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	close(fd);
	pg_logging_init(argv0);
	pg_logging_set_level(PG_LOG_WARNING);
	/* this sets PGSYSCONFDIR, where libpq looks for pg_service.conf */
	set_pglocale_pgservice(argv0, name);
	setlocale(LC_NUMERIC, "C"); /* programs read the numbers, too */

	/*
	 * A write to a broken pipe, or beyond the size limit of files, must be
	 * reported as an error instead of killing the process.  And the ends of
	 * children must be reported, even if the parent of this program ignores
	 * SIGCHLD.
	 */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
}

const char *
this_program_name(void)
{
	return program_name;
}

/*
 * Packages contain the major version in the path of their programs, as in
 * /usr/lib/postgresql/17/bin and /usr/pgsql-17/bin.
 */
char *
this_program_of_major(int major)
{
	char		self[MAXPGPATH];
	char	   *found = NULL;
	char	   *path;

	if (find_my_exec(program_argv0, self) < 0)
		return NULL;
	for (char *next = strstr(self, PG_MAJORVERSION "/bin/"); next;
		 next = strstr(next + 1, PG_MAJORVERSION "/bin/"))
		found = next;
	if (found == NULL)
		return NULL;
	*found = '\0';
	path = psprintf("%s%d/bin/%s", self, major, program_name);
	return access(path, X_OK) == 0 ? path : NULL;
}

char *
this_program_share_file(const char *name)
{
	char		self[MAXPGPATH];
	char		share[MAXPGPATH];

	if (find_my_exec(program_argv0, self) < 0)
		pg_fatal("could not find own program executable \"%s\"", program_argv0);
	get_share_path(self, share);
	return psprintf("%s/%s", share, name);
}

void
this_program_check_output(void)
{
	/* ferror() reports what an earlier flush could not write */
	if (fflush(stdout) != 0 || ferror(stdout))
		pg_fatal("could not write to standard output: %m");
}

/*
 * stock_pg_dumpall.c
 *		Runs stock pg_dumpall for what databases share.
 */
#include "base/fe_compat.h"

#include <sys/wait.h>
#include <unistd.h>

#include "fe_utils/string_utils.h"

#include "base/interrupt.h"
#include "process/child_program.h"
#include "stock/stock_pg_dumpall.h"

/* How often to look whether it has ended. */
#define LOOK_AGAIN_MS 20

char *
stock_pg_dumpall_find(const Options *options, const char *argv0)
{
	char	   *path = NULL;

	if (options->pg_dump_path)
	{
		char	   *directory = pg_strdup(options->pg_dump_path);

		get_parent_directory(directory);
		path = psprintf("%s/pg_dumpall", *directory ? directory : ".");
		free(directory);
		if (child_program_is_executable(path))
			return path;
	}
	else
		path = child_program_find(argv0, "pg_dumpall");
	if (path == NULL || !child_program_is_executable(path))
	{
		pg_log_error("program \"pg_dumpall\" was found neither beside pg_dump nor in PATH");
		pg_log_error_hint("pg_dumpall reads roles and tablespaces: install PostgreSQL's client programs, or name the pg_dump beside it by --pg-dump.");
		exit(1);
	}
	return path;
}

/* An exit callback. */
static void
end_program(void *arg)
{
	child_process_end_all(arg, 1);
}

/* Takes what it says, to its end; its exit status, as waitpid() has it. */
static int
wait_for_end(pid_t *pid, ProgramWords *words)
{
	int			status;
	pid_t		gone;

	for (;;)
	{
		interrupt_check();
		gone = waitpid(*pid, &status, WNOHANG);
		if (gone < 0 && errno != EINTR)
			pg_fatal("%s() failed: %m", "waitpid");
		if (gone > 0)
			break;
		if (words->fd >= 0)
			program_words_hear(words, LOOK_AGAIN_MS, true);
		else
			pg_usleep(LOOK_AGAIN_MS * 1000L);
	}
	*pid = 0;
	program_words_hear(words, 0, true);
	program_words_close(words);
	return status;
}

/* Its options that are also ours; NULL terminated. */
static void
add_args(const char **args, int n, const Options *options)
{
	if (options->no_role_passwords)
		args[n++] = "--no-role-passwords";
	if (options->no_owner)
		args[n++] = "--no-owner";
	if (options->no_privileges)
		args[n++] = "--no-privileges";
	if (options->no_tablespaces)
		args[n++] = "--no-tablespaces";
	if (options->no_comments)
		args[n++] = "--no-comments";
	if (options->no_security_labels)
		args[n++] = "--no-security-labels";
	if (options->quote_all_identifiers)
		args[n++] = "--quote-all-identifiers";
	if (options->role)
		args[n++] = psprintf("--role=%s", options->role);
	args[n] = NULL;
}

/* pg_dumpall takes it for a connection string if it looks like one. */
static char *
database_string(const char *database)
{
	PQExpBufferData text;

	initPQExpBuffer(&text);
	appendPQExpBufferStr(&text, "dbname=");
	appendConnStrVal(&text, database);
	if (PQExpBufferDataBroken(text))
		pg_fatal("out of memory");
	return text.data;
}

void
stock_pg_dumpall_run(const char *path, const char *part, const Options *options,
					 const PeerAddress *address, const char *database,
					 const char *more, int fd)
{
	const char *args[20] = {path, part, "-w", "-l", database_string(database),
		"-d", psprintf("%s%s", peer_address_for_program(address), more)
	};
	ProgramWords words;
	pid_t		pid;
	int			err[2];
	int			status;

	add_args(args, 7, options);
	child_program_pipe(err);
	pid = child_program_start(path, args, peer_address_secrets(address), fd,
							  err[1]);
	close(err[1]);
	cleanup_push(end_program, &pid);
	program_words_open(&words, err[0], "pg_dumpall: ");
	status = wait_for_end(&pid, &words);
	cleanup_pop(end_program, &pid);
	if (WIFSIGNALED(status))
		pg_fatal("pg_dumpall was terminated by signal %d: %s",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) == 0)
		return;
	pg_log_error("pg_dumpall failed with exit code %d", WEXITSTATUS(status));
	if (!options->no_role_passwords)
		pg_log_error_hint("If the role may not read pg_authid, as on managed servers, use --no-role-passwords.  If names of roles are no text in the database, connect to one of another encoding by -d.");
	exit(1);
}

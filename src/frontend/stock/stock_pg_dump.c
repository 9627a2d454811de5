/*
 * stock_pg_dump.c
 *		Runs stock pg_dump to learn what is to be dumped, and pg_dumpall for
 *		what the databases of a cluster share.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fe_utils/string_utils.h"

#include "archive/toc_file.h"
#include "base/buffer.h"
#include "base/interrupt.h"
#include "process/child_program.h"
#include "process/progress.h"
#include "stock/stock_pg_dump.h"

/* ----------
 * Runs stock pg_dumpall for what databases share.
 * ----------
 */

char *
stock_pg_dumpall_find(const Options *options, const char *argv0)
{
	char	   *path = options->pg_dump_path ?
		child_program_beside(options->pg_dump_path, "pg_dumpall") :
		child_program_find(argv0, "pg_dumpall");

	if (path == NULL)
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

/* Its options that are also ours; NULL terminated. */
static void
stock_pg_dump_add_args(const char **args, int n, const Options *options)
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
	return buffer_text(&text);
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

	stock_pg_dump_add_args(args, 7, options);
	child_program_pipe(err);
	pid = child_program_start(path, args, peer_address_secrets(address), fd,
							  err[1]);
	close(err[1]);
	cleanup_push(end_program, &pid);
	program_words_open(&words, err[0], "pg_dumpall: ");
	status = program_words_wait(&words, &pid);
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

/* ----------
 * Runs stock pg_dump to learn what is to be dumped.
 * ----------
 */

#define MIN_MAJOR 15

/*
 * A signal just before a poll() does not end it: look again after this time.
 */
#define LOOK_AGAIN_MS 200

/* How often to look whether it has ended, while it is silent. */
#define EXIT_CHECK_MS 20

/* How long its last words are taken, so that they do not block its end. */
#define LAST_WORDS_MS 1000

/* What its messages begin with. */
#define WORDS_PREFIX "pg_dump: "

struct StockPgDump
{
	char	   *path;
	int			major;
	pid_t		pid;			/* 0 when not running */
	int			out_fd;			/* its standard output, -1 when closed */
	ProgramWords words;			/* on its standard error */
	char		buffer[65536];	/* read from out_fd, not yet taken */
	size_t		start;
	size_t		end;
};

/* ----------
 * Running a program
 * ----------
 */

/*
 * Start path with args (NULL terminated), its outputs in pipes.  secrets are
 * those of where it will connect to, if it does.
 */
static void
spawn(StockPgDump *pg_dump, const char **args, const ChildSecrets *secrets)
{
	int			out[2];
	int			err[2];

	child_program_pipe(out);
	child_program_pipe(err);
	pg_dump->pid = child_program_start(pg_dump->path, args, secrets,
									   out[1], err[1]);
	close(out[1]);
	close(err[1]);
	pg_dump->out_fd = out[0];
	program_words_open(&pg_dump->words, err[0], WORDS_PREFIX);
	pg_dump->start = pg_dump->end = 0;
}

/* Read what there is; false (and the descriptor closed) at the end. */
static bool
read_some(int *fd, char *buf, size_t space, size_t *len)
{
	ssize_t		got = read(*fd, buf, space);

	*len = 0;
	if (got < 0 && errno == EINTR)
		return true;
	if (got < 0)
		pg_fatal("could not read from pg_dump: %m");
	if (got == 0)
	{
		close(*fd);
		*fd = -1;
		return false;
	}
	*len = got;
	return true;
}

/*
 * Wait until there is output to take, showing meanwhile what the program says
 * on its standard error.  False when its output has ended.
 */
static bool
fill_buffer(StockPgDump *pg_dump)
{
	pg_dump->start = pg_dump->end = 0;
	while (pg_dump->out_fd >= 0 && pg_dump->end == 0)
	{
		struct pollfd fds[2] = {
			{.fd = pg_dump->out_fd,.events = POLLIN},
			{.fd = pg_dump->words.fd,.events = POLLIN}	/* -1 is ignored */
		};

		interrupt_check();
		progress_tick();
		if (poll(fds, 2, LOOK_AGAIN_MS) < 0)
		{
			if (errno == EINTR)
				continue;
			pg_fatal("%s() failed: %m", "poll");
		}
		/* not before what may be the end of the table of contents */
		if (fds[1].revents && !fds[0].revents)
			program_words_hear(&pg_dump->words, 0, true);
		if (fds[0].revents)
			read_some(&pg_dump->out_fd, pg_dump->buffer,
					  sizeof(pg_dump->buffer), &pg_dump->end);
	}
	return pg_dump->end > 0;
}

/* A TocReadCallback. */
static size_t
stock_pg_dump_read_output(void *arg, void *buf, size_t len)
{
	StockPgDump *pg_dump = arg;
	size_t		done = 0;

	while (done < len)
	{
		size_t		part;

		if (pg_dump->start == pg_dump->end && !fill_buffer(pg_dump))
			break;
		part = Min(len - done, pg_dump->end - pg_dump->start);
		memcpy((char *) buf + done, pg_dump->buffer + pg_dump->start, part);
		pg_dump->start += part;
		done += part;
	}
	return done;
}

/* Its last words, then its exit status. */
static int
wait_for_exit(StockPgDump *pg_dump)
{
	if (pg_dump->out_fd >= 0)
		close(pg_dump->out_fd);
	pg_dump->out_fd = -1;
	return program_words_wait(&pg_dump->words, &pg_dump->pid);
}

/* ----------
 * Finding it
 * ----------
 */
/* "pg_dump (PostgreSQL) 17.2 (Debian ...)", "... 19beta1", ... */
static int
take_major(StockPgDump *pg_dump)
{
	const char *prefix = "pg_dump (PostgreSQL) ";
	char		line[256];
	size_t		len;
	int			major = 0;

	len = stock_pg_dump_read_output(pg_dump, line, sizeof(line) - 1);
	line[len] = '\0';
	if (wait_for_exit(pg_dump) == 0 &&
		strncmp(line, prefix, strlen(prefix)) == 0)
		major = atoi(line + strlen(prefix));
	if (major == 0)
		pg_fatal("\"%s\" does not say its version as pg_dump does",
				 pg_dump->path);
	return major;
}

/* Nothing of it may outlive this process. */
static void
stop_at_exit(void *arg)
{
	stock_pg_dump_stop(arg);
}

/* Before it is run, as its own words would name neither major. */
static void
refuse_newer_option(const StockPgDump *pg_dump, const Options *options)
{
	if (pg_dump->major >= options->needed_major)
		return;
	pg_log_error("option --%s needs pg_dump %d or newer; this is %d",
				 options->needed_for, options->needed_major, pg_dump->major);
	pg_log_error_detail("The pg_dump in use is \"%s\".", pg_dump->path);
	exit(1);
}

StockPgDump *
stock_pg_dump_find(const Options *options, const char *argv0)
{
	StockPgDump *pg_dump = pg_malloc0(sizeof(StockPgDump));
	const char *args[] = {NULL, "--version", NULL};

	pg_dump->path = child_program_choose(options->pg_dump_path, argv0, "pg_dump",
										 "reads the schema", "--pg-dump");
	pg_dump->out_fd = pg_dump->words.fd = -1;

	/*
	 * Before it is started, so that there is no moment without the callback.
	 */
	cleanup_push(stop_at_exit, pg_dump);
	args[0] = pg_dump->path;

	/*
	 * Its answer is taken later: meanwhile the leader connects, which takes
	 * about as long.
	 */
	spawn(pg_dump, args, NULL);
	return pg_dump;
}

void
stock_pg_dump_check(StockPgDump *pg_dump, const Options *options)
{
	pg_dump->major = take_major(pg_dump);
	if (pg_dump->major < MIN_MAJOR)
	{
		pg_log_error("\"%s\" is of PostgreSQL %d, which is too old",
					 pg_dump->path, pg_dump->major);
		pg_log_error_hint("Use pg_dump %d or newer, of the server's major or a later one.",
						  MIN_MAJOR);
		exit(1);
	}
	/* as pg_dumpall does; one that the user named is the user's choice */
	if (options->pg_dump_path == NULL && pg_dump->major != PG_MAJORVERSION_NUM)
	{
		pg_log_error("\"%s\" was found, but is of PostgreSQL %d, and this pg_pardump of %d",
					 pg_dump->path, pg_dump->major, PG_MAJORVERSION_NUM);
		pg_log_error_hint("Use the pg_pardump of that major, or name the pg_dump to use by --pg-dump.");
		exit(1);
	}
	refuse_newer_option(pg_dump, options);
}

int
stock_pg_dump_major(const StockPgDump *pg_dump)
{
	return pg_dump->major;
}

const char *
stock_pg_dump_path(const StockPgDump *pg_dump)
{
	return pg_dump->path;
}

/* ----------
 * Asking it
 * ----------
 */
void
stock_pg_dump_start(StockPgDump *pg_dump, const Options *options,
					const PeerAddress *address, const char *snapshot)
{
	int			n = 0;
	const char **args = pg_malloc((options->n_pg_dump_args + 8) *
								  sizeof(char *));

	args[n++] = pg_dump->path;
	args[n++] = "-Fc";

	/*
	 * The rows that pg_dump begins to write are thrown away, so to compress
	 * them would only delay the table of contents in the pipe.
	 */
	args[n++] = "-Z0";
	args[n++] = "-w";			/* a password was asked for already */
	args[n++] = psprintf("--snapshot=%s", snapshot);
	for (int i = 0; i < options->n_pg_dump_args; i++)
		args[n++] = options->pg_dump_args[i];
	args[n++] = "-d";
	args[n++] = peer_address_for_program(address);
	args[n] = NULL;

	pg_log_info("reading the schema with \"%s\"", pg_dump->path);
	spawn(pg_dump, args, peer_address_secrets(address));
	free(args);
}

/*
 * It ended before its table of contents did.  Returns the exit status for
 * that.
 */
static int
failed(StockPgDump *pg_dump, const char *problem)
{
	int			status = wait_for_exit(pg_dump);

	interrupt_check();
	if (WIFSIGNALED(status))
		pg_log_error("pg_dump was terminated by signal %d: %s",
					 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		pg_log_error("pg_dump failed with exit code %d", WEXITSTATUS(status));
	else
		pg_log_error("the output of pg_dump ended in %s", problem);
	/* the code of pg_dump, as a user's script may know it */
	return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1;
}

/*
 * Servers of late 2026, from 15.20 and 17.12 on, keep a version among the
 * options of each column.  An older pg_dump, of any major, takes it for one
 * that was set, and writes definitions of tables that no server accepts
 * (pg_dump.c:dumpTableSchema).
 */
static void
refuse_column_versions(const Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if ((toc_entry_is(entry, "TABLE") ||
			 toc_entry_is(entry, "FOREIGN TABLE") ||
			 toc_entry_is(entry, "MATERIALIZED VIEW")) && entry->defn != NULL &&
			strstr(entry->defn, " SET (pg_attver=") != NULL)
		{
			pg_log_error("pg_dump %s does not know what server %s keeps of columns, and its definitions could not be restored",
						 toc->pg_dump_version, toc->server_version);
			pg_log_error_hint("Update pg_dump to the latest minor release of its major; or use pg_pardump and pg_restore of the server's own major, %d, which restores into newer servers, too.",
							  atoi(toc->server_version));
			exit(1);
		}
	}
}

/*
 * Once it has written the definitions it begins to read rows, which are not
 * needed.  How that fails is of no interest to the run, and may show values
 * that are masked: a character that the encoding of the dump does not have.
 */
static bool
is_about_rows(const char *line)
{
	const char *begin = WORDS_PREFIX "error: ";

	return strncmp(line, begin, strlen(begin)) == 0;
}

Toc *
stock_pg_dump_read_toc(StockPgDump *pg_dump, int *status)
{
	const char *problem;
	Toc		   *toc;

	toc = toc_read_custom(stock_pg_dump_read_output, pg_dump, &problem);
	if (toc == NULL)
	{
		*status = failed(pg_dump, problem);
		return NULL;
	}

	/*
	 * Debian's pg_wrapper chooses the major each time, by the arguments
	 */
	if (atoi(toc->pg_dump_version) != pg_dump->major)
	{
		pg_log_error("\"%s\" said that it is of PostgreSQL %d, but ran as pg_dump %s",
					 pg_dump->path, pg_dump->major, toc->pg_dump_version);
		pg_log_error_hint("Name the program itself by --pg-dump.");
		exit(1);
	}
	/* warnings that came with it */
	pg_dump->words.counted = WORDS_PREFIX;
	pg_dump->words.is_end = is_about_rows;
	program_words_hear(&pg_dump->words, 0, true);
	refuse_column_versions(toc);
	return toc;
}

void
stock_pg_dump_end(StockPgDump *pg_dump)
{
	/*
	 * its handler cancels its statement; killed by a closed pipe it would not
	 */
	if (pg_dump->pid != 0)
		kill(pg_dump->pid, SIGTERM);
}

void
stock_pg_dump_stop(StockPgDump *pg_dump)
{
	if (pg_dump->pid == 0)
		return;
	stock_pg_dump_end(pg_dump);
	for (int ms = 0; ms < LAST_WORDS_MS && pg_dump->words.fd >= 0; ms += EXIT_CHECK_MS)
	{
		program_words_hear(&pg_dump->words, EXIT_CHECK_MS, false);
		if (child_process_is_gone(&pg_dump->pid))
			break;
	}

	/*
	 * Not before: SIGPIPE would kill it before its handler has cancelled its
	 * statement, and the server would go on reading.
	 */
	if (pg_dump->out_fd >= 0)
		close(pg_dump->out_fd);
	pg_dump->out_fd = -1;
	child_process_end_all(&pg_dump->pid, 1);
	program_words_close(&pg_dump->words);
}

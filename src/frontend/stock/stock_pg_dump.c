/*
 * stock_pg_dump.c
 *		Runs stock pg_dump to learn what is to be dumped, and pg_dumpall for
 *		what the databases of a cluster share.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "fe_utils/string_utils.h"

#include "archive/toc_file.h"
#include "base/buffer.h"
#include "base/interrupt.h"
#include "process/progress.h"
#include "process/this_program.h"
#include "stock/stock_pg_dump.h"
#include "stream/regular_file.h"

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
		if (options->pg_dump_path)
			pg_log_error("program \"%s\" was not found in the directory of \"%s\"",
						 "pg_dumpall", options->pg_dump_path);
		else
			pg_log_error("program \"%s\" was found neither in the directory of %s nor in PATH",
						 "pg_dumpall", this_program_name());
		pg_fatal_hint("Install PostgreSQL's client programs, or use --pg-dump to specify the pg_dump in the directory of pg_dumpall.");
	}
	return path;
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
	PQExpBufferData text = buffer_new();

	conninfo_append(&text, "dbname", database);
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
	PQExpBufferData said = buffer_new();
	pid_t		pid;
	int			status;

	stock_pg_dump_add_args(args, 7, options);
	pid = child_program_start(args, peer_address_secrets(address), fd, &words,
							  "pg_dumpall: ");
	words.said = &said;
	cleanup_push(child_process_end, &pid);
	status = program_words_wait(&words, &pid);
	cleanup_pop(child_process_end, &pid);
	if (WIFSIGNALED(status))
		pg_fatal("%s was terminated by signal %d: %s", "pg_dumpall",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) == 0)
		return;
	pg_log_error("%s failed with exit code %d", "pg_dumpall",
				 WEXITSTATUS(status));

	/*
	 * Other failures, for example of the connection, explain themselves.
	 * pg_dumpall also shows the query, but no line of it ends in the name.
	 */
	if (strstr(buffer_text(&said), "pg_authid\n") && !options->no_role_passwords)
		pg_log_error_hint("If the role may not read pg_authid, as on managed servers, use --no-role-passwords.");
	else if (strstr(buffer_text(&said), "encoding"))
		pg_log_error_hint("If the names of roles are not valid in the encoding of the database, use -d to connect to a database with another encoding.");
	exit(1);
}

/* ----------
 * Runs stock pg_dump to learn what is to be dumped.
 *
 * pg_dump must end before it reads a row, and in order: a lost session or a
 * canceled statement would leave errors in the server's log.  With -Fd -j,
 * pg_dump writes and closes toc.dat, and then lets workers read the rows,
 * each in a session of its own.  To connect, a worker reads the service
 * file, which is a pipe of ours.  So the worker waits for the rest of that
 * file, and pg_dump for the worker, idle in its transaction, with its locks.
 * When the pipe is closed, the worker finds no service and exits; pg_dump
 * then closes its connection and exits, too (parallel.c, pg_backup_db.c).
 *
 * pg_dump refuses -j with --include-foreign-data.  Then it runs with -Fc, in
 * which the table of contents comes first, into a pipe: the full pipe holds
 * it in its first COPY, which a signal ends.
 * ----------
 */

#define MIN_MAJOR 15

/*
 * A signal just before a poll() does not end it: look again after this time.
 */
#define LOOK_AGAIN_MS 200

/* How often to look whether it has ended, while it is silent. */
#define EXIT_CHECK_MS 20

/* How often to look whether there is more of toc.dat. */
#define TOC_CHECK_MS 2

/*
 * How long to wait for its end, and take its last words, which else could
 * block it: for the end of its own accord, and after a signal.
 */
#define ORDERLY_END_MS 5000
#define SIGNALED_END_MS 1000

struct StockPgDump
{
	char	   *path;
	int			major;
	pid_t		pid;			/* 0 when not running */
	int			out_fd;			/* its standard output, -1 when closed */
	ProgramWords words;			/* on its standard error */
	bool		by_pipe;		/* it writes to its standard output instead */
	char	   *directory;		/* of its archive; NULL when removed */
	int			toc_fd;			/* the archive's toc.dat, -1 when not there */
	bool		toc_is_read;
	int			gate_fd;		/* while open, workers of pg_dump wait */
	char		buffer[65536];	/* of out_fd or toc_fd, not yet taken */
	size_t		start;
	size_t		end;
};

/* ----------
 * Running a program
 * ----------
 */

/*
  * Start it with args (NULL terminated), its outputs in pipes.  secrets are
 * those of where it will connect to, if it does.
 */
static void
spawn(StockPgDump *pg_dump, const char **args, const ChildSecrets *secrets)
{
	int			out[2];

	child_program_pipe(out);
	pg_dump->pid = child_program_start(args, secrets, out[1], &pg_dump->words,
									   "pg_dump: ");
	close(out[1]);
	pg_dump->out_fd = out[0];
	pg_dump->start = pg_dump->end = 0;
}

static void
close_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Read what there is; at the end the descriptor is closed. */
static void
read_some(int *fd, char *buf, size_t space, size_t *len)
{
	ssize_t		got = read(*fd, buf, space);

	*len = 0;
	if (got < 0 && errno == EINTR)
		return;
	if (got < 0)
		pg_fatal("could not read from pg_dump: %m");
	if (got == 0)
		close_file(fd);
	*len = got;
}

/*
 * Wait for output for some time, showing meanwhile what the program says on
 * its standard error.
 */
static void
wait_for_output(StockPgDump *pg_dump, int wait_ms)
{
	struct pollfd fds[2] = {
		{.fd = pg_dump->out_fd,.events = POLLIN},
		{.fd = pg_dump->words.fd,.events = POLLIN}	/* -1 is ignored */
	};

	interrupt_check();
	progress_tick();
	if (poll(fds, 2, wait_ms) < 0)
	{
		if (errno == EINTR)
			return;
		pg_fatal("%s() failed: %m", "poll");
	}
	if (fds[1].revents)
		program_words_hear(&pg_dump->words, 0, true);
	if (fds[0].revents)
		read_some(&pg_dump->out_fd, pg_dump->buffer,
				  sizeof(pg_dump->buffer), &pg_dump->end);
}

/* False when its output has ended. */
static bool
fill_from_output(StockPgDump *pg_dump)
{
	pg_dump->start = pg_dump->end = 0;
	while (pg_dump->out_fd >= 0 && pg_dump->end == 0)
		wait_for_output(pg_dump, LOOK_AGAIN_MS);
	return pg_dump->end > 0;
}

/*
 * An open file needs no name: without one, nothing is left if this process is
 * killed.  On NFS the directory can be removed only after both programs have
 * closed the file: stock_pg_dump_stop() does that.
 */
static void
look_for_toc(StockPgDump *pg_dump)
{
	char	   *path = psprintf("%s/%s", pg_dump->directory, TOC_NAME);

	pg_dump->toc_fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (pg_dump->toc_fd < 0 && errno != ENOENT)
		pg_fatal("could not open file \"%s\": %m", path);
	if (pg_dump->toc_fd >= 0 && unlink(path) == 0 &&
		rmdir(pg_dump->directory) == 0)
		pg_dump->directory = NULL;
}

/*
 * Has the process ended?  Its status is left for waitpid().  The end of its
 * output would come later, or never: its workers have the same output.
 */
static bool
has_ended(const StockPgDump *pg_dump)
{
	siginfo_t	info = {.si_pid = 0};

	if (waitid(P_PID, pg_dump->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		pg_fatal("could not wait for child process: %m");
	return info.si_pid != 0;
}

/* Read more of toc.dat.  False if pg_dump has ended and all was read. */
static bool
fill_from_toc(StockPgDump *pg_dump)
{
	for (;;)
	{
		/* asked first: what pg_dump wrote before its end is read below */
		bool		is_last = has_ended(pg_dump);
		ssize_t		got = 0;

		if (pg_dump->toc_fd < 0)
			look_for_toc(pg_dump);
		if (pg_dump->toc_fd >= 0)
			got = read(pg_dump->toc_fd, pg_dump->buffer,
					   sizeof(pg_dump->buffer));
		if (got < 0 && errno != EINTR)
			pg_fatal("could not read from pg_dump: %m");
		pg_dump->start = 0;
		pg_dump->end = Max(got, 0);
		if (got > 0)
			return true;
		if (is_last)
			return false;
		wait_for_output(pg_dump, TOC_CHECK_MS);
	}
}

/* A TocReadCallback. */
static size_t
stock_pg_dump_read_bytes(void *arg, void *buf, size_t len)
{
	StockPgDump *pg_dump = arg;
	size_t		done = 0;

	while (done < len)
	{
		size_t		part;

		if (pg_dump->start == pg_dump->end &&
			!(pg_dump->by_pipe ? fill_from_output(pg_dump) :
			  fill_from_toc(pg_dump)))
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
	close_file(&pg_dump->out_fd);
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
	size_t		len = 0;
	int			major = 0;

	while (len < sizeof(line) - 1 && fill_from_output(pg_dump))
	{
		size_t		part = Min(sizeof(line) - 1 - len, pg_dump->end);

		memcpy(line + len, pg_dump->buffer, part);
		len += part;
	}
	line[len] = '\0';
	if (wait_for_exit(pg_dump) == 0 &&
		strncmp(line, prefix, strlen(prefix)) == 0)
		major = atoi(line + strlen(prefix));
	if (major == 0)
	{
		pg_log_error("could not get the version of pg_dump from \"%s --version\"",
					 pg_dump->path);
		pg_fatal_hint("Run this command to see the problem, or use --pg-dump to specify another program.");
	}
	return major;
}

/* Nothing of it may outlive this process. */
static void
stock_pg_dump_stop_at_exit(void *arg)
{
	stock_pg_dump_stop(arg);
}

/* Before it is run, as its own words would name neither major. */
static void
refuse_newer_option(const StockPgDump *pg_dump, const Options *options)
{
	if (pg_dump->major >= options->needed_major)
		return;
	pg_log_error("option --%s requires pg_dump %d or newer, but this is pg_dump %d",
				 options->needed_for, options->needed_major, pg_dump->major);
	pg_fatal_detail("The program in use is \"%s\".", pg_dump->path);
}

StockPgDump *
stock_pg_dump_find(const Options *options, const char *argv0)
{
	StockPgDump *pg_dump = pg_malloc0(sizeof(StockPgDump));
	const char *args[] = {NULL, "--version", NULL};

	pg_dump->path = child_program_choose(options->pg_dump_path, argv0, "pg_dump",
										 "--pg-dump");
	pg_dump->out_fd = pg_dump->words.fd = -1;
	pg_dump->toc_fd = pg_dump->gate_fd = -1;

	/*
	 * Before it is started, so that there is no moment without the callback.
	 */
	cleanup_push(stock_pg_dump_stop_at_exit, pg_dump);
	args[0] = pg_dump->path;

	/*
	 * Its answer is taken later: meanwhile the leader connects, which takes
	 * about as long.
	 */
	spawn(pg_dump, args, NULL);
	return pg_dump;
}

void
stock_pg_dump_refuse_newer(int server_major, int major)
{
	char	   *program;

	if (server_major <= major)
		return;
	program = this_program_of_major(server_major);
	pg_log_error("the server is PostgreSQL %d, but pg_dump %d cannot dump a newer server",
				 server_major, major);
	if (program)
		pg_fatal_hint("Use %s of PostgreSQL %d: %s.", this_program_name(),
					  server_major, program);
	pg_fatal_hint("Use %s of PostgreSQL %d.", this_program_name(),
				  server_major);
}

void
stock_pg_dump_check(StockPgDump *pg_dump, const Options *options,
					int server_version)
{
	pg_dump->major = take_major(pg_dump);
	if (pg_dump->major < MIN_MAJOR)
	{
		pg_log_error("\"%s\" is pg_dump %d, which is too old",
					 pg_dump->path, pg_dump->major);
		pg_fatal_hint("Use pg_dump %d or newer, but not older than the server.",
					  MIN_MAJOR);
	}
	/* as pg_dumpall does; one that the user named is the user's choice */
	if (options->pg_dump_path == NULL && pg_dump->major != PG_MAJORVERSION_NUM)
	{
		pg_log_error("\"%s\" is pg_dump %d, but this is pg_pardump of PostgreSQL %d",
					 pg_dump->path, pg_dump->major, PG_MAJORVERSION_NUM);
		pg_fatal_hint("Use pg_pardump of the same major version, or use --pg-dump to specify another pg_dump.");
	}
	refuse_newer_option(pg_dump, options);
	stock_pg_dump_refuse_newer(server_version / 10000, pg_dump->major);
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
/*
 * Returns the end to read of a pipe that serves as service file.  libpq reads
 * a service until the line that begins the next one, so the first connection
 * does not need the end of the file.  Another connection waits for more until
 * the gate is closed, and finds no service then
 * (fe-connect.c:parseServiceFileInfo).
 */
static int
make_gate(StockPgDump *pg_dump, const char *service)
{
	char	   *text = psprintf("%s[end]\n", service);
	ssize_t		len = strlen(text);
	int			fds[2];

	child_program_pipe(fds);
	if (write(fds[1], text, len) != len)
		pg_fatal("could not write the service file for pg_dump: %m");
	pg_dump->gate_fd = fds[1];
	return fds[0];
}

void
stock_pg_dump_start(StockPgDump *pg_dump, const Options *options,
					const PeerAddress *address, const char *snapshot)
{
	int			n = 0;
	const char **args = pg_malloc((options->n_pg_dump_args + 12) *
								  sizeof(char *));
	ChildSecrets own;
	const ChildSecrets *secrets = &own;
	char	   *conninfo;

	args[n++] = pg_dump->path;
	pg_dump->by_pipe = options->foreign_data;
	if (pg_dump->by_pipe)
	{
		secrets = peer_address_secrets(address);
		conninfo = peer_address_for_program(address);
		args[n++] = "-Fc";
	}
	else
	{
		conninfo = peer_address_for_own_service(address, &own);
		pg_dump->directory = directory_make_private();
		own.service_pipe = make_gate(pg_dump, own.service);
		args[n++] = "-f";
		args[n++] = pg_dump->directory;
		args[n++] = "-Fd";
		args[n++] = "-j2";
		args[n++] = "--no-sync";
	}
	args[n++] = "-Z0";
	args[n++] = "-w";			/* a password was asked for already */
	args[n++] = psprintf("--snapshot=%s", snapshot);
	for (int i = 0; i < options->n_pg_dump_args; i++)
		args[n++] = options->pg_dump_args[i];
	args[n++] = "-d";
	args[n++] = conninfo;
	args[n] = NULL;

	pg_log_info("reading the schema with \"%s\"", pg_dump->path);
	spawn(pg_dump, args, secrets);
	if (!pg_dump->by_pipe)
		close(own.service_pipe);
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
		pg_log_error("%s was terminated by signal %d: %s", "pg_dump",
					 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		pg_log_error("%s failed with exit code %d", "pg_dump",
					 WEXITSTATUS(status));
	else
	{
		pg_log_error("could not read the output of pg_dump");
		pg_log_error_detail("%s", problem);
		pg_log_error_hint("Check that the program of --pg-dump passes on all of pg_dump's output.");
	}
	/* the code of pg_dump, as a user's script may know it */
	return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1;
}

Toc *
stock_pg_dump_read_toc(StockPgDump *pg_dump, int *status)
{
	const char *problem;
	Toc		   *toc;

	toc = toc_read_pg_dump(stock_pg_dump_read_bytes, pg_dump,
						   pg_dump->by_pipe, &problem);
	pg_dump->toc_is_read = toc != NULL;
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
		pg_log_error("\"%s\" reported version %d, but ran as pg_dump %s",
					 pg_dump->path, pg_dump->major, toc->pg_dump_version);
		pg_fatal_hint("Use --pg-dump to specify the program itself instead of a wrapper.");
	}
	/* warnings that came with it */
	program_words_hear(&pg_dump->words, 0, true);

	/*
	 * Servers of late 2026, from 15.20 and 17.12 on, keep a version among the
	 * options of each column.  An older pg_dump, of any major, takes it for
	 * one that was set, and writes definitions of tables that no server
	 * accepts (pg_dump.c:dumpTableSchema).
	 */
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if ((toc_entry_is(entry, "TABLE") ||
			 toc_entry_is(entry, "FOREIGN TABLE") ||
			 toc_entry_is(entry, "MATERIALIZED VIEW")) && entry->defn != NULL &&
			strstr(entry->defn, " SET (pg_attver=") != NULL)
		{
			pg_log_error("pg_dump %s is too old for a server of version %s",
						 toc->pg_dump_version, toc->server_version);
			pg_log_error_detail("Its definitions of columns could not be restored.");
			pg_fatal_hint("Update pg_dump to the latest minor release of its major version, or use pg_pardump and pg_restore of PostgreSQL %d, which can also restore into newer servers.",
						  atoi(toc->server_version));
		}
	}
	return toc;
}

void
stock_pg_dump_end(StockPgDump *pg_dump)
{
	close_file(&pg_dump->gate_fd);
}

void
stock_pg_dump_stop(StockPgDump *pg_dump)
{
	int			wait_ms = ORDERLY_END_MS;

	stock_pg_dump_end(pg_dump);
	close_file(&pg_dump->toc_fd);
	if (pg_dump->pid != 0 && (pg_dump->by_pipe || !pg_dump->toc_is_read))
	{
		/* its handler cancels its statement */
		kill(pg_dump->pid, SIGTERM);
		wait_ms = SIGNALED_END_MS;
	}
	while (wait_ms > 0 && !child_process_is_gone(&pg_dump->pid))
	{
		if (pg_dump->words.fd >= 0)
			program_words_hear(&pg_dump->words, EXIT_CHECK_MS, false);
		else
			pg_usleep(EXIT_CHECK_MS * 1000L);
		wait_ms -= EXIT_CHECK_MS;
	}
	close_file(&pg_dump->out_fd);
	child_process_end(&pg_dump->pid);
	program_words_close(&pg_dump->words);
	if (pg_dump->directory && !rmtree(pg_dump->directory, true))
		pg_log_warning("could not remove directory \"%s\"",
					   pg_dump->directory);
	pg_dump->directory = NULL;
}

/*
 * stock_pg_restore.c
 *		Runs stock pg_restore, to find out which entries the user selects, and
 *		on archives without data.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <sys/wait.h>

#include "archive/toc_file.h"
#include "base/buffer.h"
#include "base/interrupt.h"
#include "process/progress.h"
#include "process/this_program.h"
#include "stock/stock_pg_restore.h"

/*
 * The timeout of poll(), which a signal that arrives just before it does not
 * interrupt.
 */
#define LOOK_AGAIN_MS 200

/* Read the output of pg_restore until its end, and show its messages. */
static void
read_output(int fd, ProgramWords *words, PQExpBuffer text)
{
	char		buf[65536];

	for (;;)
	{
		struct pollfd fds[2] = {
			{.fd = fd,.events = POLLIN},
			{.fd = words->fd,.events = POLLIN}	/* -1 is ignored */
		};
		ssize_t		len;

		interrupt_check();
		if (poll(fds, 2, LOOK_AGAIN_MS) < 0 && errno != EINTR)
			pg_fatal("%s() failed: %m", "poll");
		if (fds[1].revents)
			program_words_hear(words, 0, true);
		if (!fds[0].revents)
			continue;
		len = read(fd, buf, sizeof(buf));
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			pg_fatal("could not read from pg_restore: %m");
		if (len == 0)
			return;
		appendBinaryPQExpBuffer(text, buf, len);
	}
}

/*
 * Print a hint if a newer pg_dump wrote the archive, because pg_restore's
 * error message contains only the version of the format.
 */
static void
hint_at_version(const Toc *toc)
{
	int			major = atoi(toc->pg_dump_version);
	char	   *program;

	if (major <= PG_MAJORVERSION_NUM)
		return;
	program = this_program_of_major(major);
	if (program)
		pg_log_error_hint("The archive was written by pg_dump %d.  Use pg_parrestore of PostgreSQL %d (%s), or \"pg_restore -f -\" of PostgreSQL %d with psql.",
						  major, major, program, major);
	else
		pg_log_error_hint("The archive was written by pg_dump %d.  Use pg_parrestore of PostgreSQL %d, or \"pg_restore -f -\" of PostgreSQL %d with psql.",
						  major, major, major);
}

/*
 * Wait for the end of pg_restore.  If it failed, exit with its exit code.
 * toc is the table of contents of the user's archive, or NULL for an archive
 * that was written here.
 */
static void
wait_for_end(pid_t pid, ProgramWords *words, const Toc *toc)
{
	int			status = program_words_wait(words, &pid);

	if (WIFSIGNALED(status))
		pg_fatal("%s was terminated by signal %d: %s", "pg_restore",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) == 0)
		return;
	if (toc)
		hint_at_version(toc);
	exit(WEXITSTATUS(status));
}

/*
 * Run pg_restore, without a connection, with these arguments (NULL
 * terminated, the program first), and append its output to text.  If it
 * fails, its messages are shown, and the process exits with its exit code.
 */
static void
stock_output_read(const char **args, const Toc *toc, PQExpBuffer text)
{
	ProgramWords words;
	int			out[2];
	pid_t		pid;

	child_program_pipe(out);
	pid = child_program_start(args, NULL, out[1], &words, "pg_restore: ");
	close(out[1]);
	read_output(out[0], &words, text);
	close(out[0]);
	wait_for_end(pid, &words, toc);
	(void) buffer_text(text);
}

/* ----------
 * Runs pg_restore on the user's archive.
 * ----------
 */

/* The number of bytes that a message shows of a line. */
#define SHOWN_BYTES 120

/*
 * Parse the list: lines of the form "ID; ...", and comments, which begin with
 * a semicolon (pg_backup_archiver.c:PrintTOCSummary).
 */
static int *
parse_ids(const char *text, int *n_ids)
{
	int		   *ids = NULL;

	*n_ids = 0;
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
	{
		char	   *end;
		long		id = strtol(line, &end, 10);

		if (end != line && *end == ';' && id > 0 && id <= PG_INT32_MAX)
			*array_add(ids, *n_ids) = (int) id;
		else if (*line != ';')
		{
			pg_log_error("could not read the list written by pg_restore");
			pg_fatal_detail("A line begins neither with a number nor with a semicolon: %s",
							printable(pnstrdup(line, Min(strcspn(line, "\n"), SHOWN_BYTES))));
		}
		if (line[strcspn(line, "\n")] == '\0')
			break;
	}
	return ids;
}

static int
count_args(const char *const *args)
{
	int			n = 0;

	while (args && args[n])
		n++;
	return n;
}

int *
stock_list_read(const char *program, const Options *options, const char *path,
				const Toc *toc, int *n_ids)
{
	int			n = count_args(options->list_args);
	const char **args = pg_malloc((n + 5) * sizeof(char *));
	PQExpBufferData text = buffer_new();

	args[0] = program;
	args[1] = "-l";
	if (n > 0)
		memcpy(args + 2, options->list_args, n * sizeof(char *));
	args[n + 2] = "--";
	args[n + 3] = path;
	args[n + 4] = NULL;
	stock_output_read(args, toc, &text);
	return parse_ids(text.data, n_ids);
}

/*
 * Does a name given with this letter match (pg_backup_archiver.c:
 * _tocEntryRequired)?
 */
static bool
matches(const TocEntry *entry, char letter, const char *name)
{
	static const char *const tables[] = {
		"TABLE", "TABLE DATA", "VIEW", "FOREIGN TABLE", "MATERIALIZED VIEW",
		"MATERIALIZED VIEW DATA", "SEQUENCE", "SEQUENCE SET", "STATISTICS DATA", NULL
	};
	static const char *const functions[] = {"FUNCTION", "AGGREGATE", "PROCEDURE", NULL};

	switch (letter)
	{
		case 'n':
		case 'N':
			return entry->namespace && strcmp(entry->namespace, name) == 0;
		case 't':
			return toc_entry_is_one_of(entry, tables) && strcmp(entry->tag, name) == 0;
		case 'P':
			return toc_entry_is_one_of(entry, functions) && strcmp(entry->tag, name) == 0;
		case 'I':
			return toc_entry_is(entry, "INDEX") && strcmp(entry->tag, name) == 0;
		case 'T':
			return toc_entry_is(entry, "TRIGGER") && strcmp(entry->tag, name) == 0;
	}
	return false;
}

/* Do all names together select the entry? */
static bool
is_selected(const TocEntry *entry, const SimpleStringList *names)
{
	bool		by_schema = false;
	bool		in_schema = false;
	bool		by_name = false;
	bool		has_name = false;

	for (const SimpleStringListCell *cell = names->head; cell; cell = cell->next)
	{
		bool		found = matches(entry, cell->val[0], cell->val + 1);

		if (cell->val[0] == 'N' && found)
			return false;
		if (cell->val[0] == 'n')
		{
			by_schema = true;
			in_schema |= found;
		}
		else if (cell->val[0] != 'N')
		{
			by_name = true;
			has_name |= found;
		}
	}
	return (in_schema || !by_schema) && (has_name || !by_name);
}

/*
 * Print a hint for two common mistakes: to pg_restore, "-t shop.orders" is
 * the table "shop.orders" in any schema, and the name of a trigger begins
 * with that of its table.  Returns false if the user made neither.
 */
static bool
hint_at_spelling(const Toc *toc, const SimpleStringList *names)
{
	bool		found = false;

	for (const SimpleStringListCell *cell = names->head; cell; cell = cell->next)
	{
		const char *name = cell->val + 1;
		const char *dot = strchr(name, '.');

		if (cell->val[0] == 't' && dot)
		{
			pg_log_error_hint("Specify the schema with a separate option: -n %.*s -t %s.",
							  (int) (dot - name), name, dot + 1);
			found = true;
		}
		for (int i = 0; i < toc->n_entries && cell->val[0] == 'T'; i++)
		{
			const TocEntry *entry = &toc->entries[i];
			size_t		length = strlen(entry->tag);

			if (toc_entry_is(entry, "TRIGGER") && length > strlen(name) &&
				entry->tag[length - strlen(name) - 1] == ' ' &&
				strcmp(entry->tag + length - strlen(name), name) == 0)
			{
				pg_log_error_hint("Specify the table before the name of the trigger: -T \"%s\".",
								  printable(entry->tag));
				found = true;
			}
		}
	}
	return found;
}

void
stock_list_check_names(const Toc *toc, const Options *options)
{
	const SimpleStringList *names = &options->name_filters;
	PQExpBufferData given = buffer_new();
	bool		selected = names->head == NULL;

	for (const SimpleStringListCell *cell = names->head; cell; cell = cell->next)
		appendPQExpBuffer(&given, "%s-%c %s", given.len > 0 ? " " : "",
						  cell->val[0], printable(cell->val + 1));
	for (int i = 0; i < toc->n_entries && !selected; i++)
		selected = is_selected(&toc->entries[i], names);
	if (!selected)
	{
		pg_log_error("no entry of the archive matches %s", given.data);
		if (!hint_at_spelling(toc, names))
			pg_log_error_hint("Use --list to show the entries of the archive.");
		exit(1);
	}
	for (const SimpleStringListCell *cell = names->head;
		 cell && !options->strict_names; cell = cell->next)
	{
		bool		found = false;

		for (int i = 0; i < toc->n_entries && !found; i++)
			found = matches(&toc->entries[i], cell->val[0], cell->val + 1);
		if (!found)
		{
			pg_log_warning("no entry of the archive matches -%c %s", cell->val[0],
						   printable(cell->val + 1));
			pg_log_warning_hint("Use --list to show the entries of the archive.");
		}
	}
}

void
stock_list_become(const char *program, const Options *options)
{
	int			n = count_args(options->pg_restore_args);
	const char **args = pg_malloc((n + 3) * sizeof(char *));
	int			first = 0;

	args[first++] = program;
	/* pg_restore would ask for a password even without a terminal */
	if (options->connection.prompt_password == TRI_DEFAULT &&
		!typed_password_has_terminal())
		args[first++] = "-w";
	if (n > 0)
		memcpy(args + first, options->pg_restore_args, n * sizeof(char *));
	args[first + n] = NULL;
	/* handlers are reset by execv() itself, ignored signals are not */
	interrupt_reset_signals();
	execv(program, (char *const *) args);
	pg_fatal("could not execute \"%s\": %m", program);
}

int
stock_list_run(const char *program, const Options *options, const char *path)
{
	int			n = count_args(options->pg_restore_args);
	const char **args = pg_malloc((n + 4) * sizeof(char *));
	ProgramWords words;
	pid_t		pid;
	int			status;

	args[0] = program;
	if (n > 0)
		memcpy(args + 1, options->pg_restore_args, n * sizeof(char *));
	args[n + 1] = "--";
	args[n + 2] = path;
	args[n + 3] = NULL;
	pid = child_program_start(args, NULL, -1, &words, "pg_restore: ");
	status = program_words_wait(&words, &pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* ----------
 * Writes archives without data, and runs pg_restore on them.
 * ----------
 */

/* The interval at which the end of pg_restore is checked. */
#define LOOK_AGAIN_US 5000

#define MAX_ARGS 48

/*
 * The beginnings of pg_restore's messages for an error, and at the end if it
 * continued after errors (pg_restore.c:main); with locale C.  The number in
 * the last message is too large with --jobs: after each entry, a worker
 * returns the number of its errors including those from before it was forked
 * (pg_backup_archiver.c:restore_toc_entry).  So the messages are counted.
 */
#define ERROR_WORDS "pg_restore: error: "
#define IGNORED_WORDS "pg_restore: warning: errors ignored on restore: "

char *
stock_pg_restore_find(const char *pg_dump_path)
{
	char	   *path = child_program_beside(pg_dump_path, "pg_restore");

	if (path == NULL)
		path = child_program_search("pg_restore");
	if (path == NULL)
	{
		pg_log_error("program \"%s\" was found neither in the directory of %s nor in PATH",
					 "pg_restore", "pg_dump");
		pg_fatal_hint("Install PostgreSQL's client programs.");
	}
	return path;
}

/* The index is made once, because there may be many runs and many entries. */
void
stock_pg_restore_set_toc(PgRestoreSetup *setup, const Toc *toc)
{
	setup->toc = toc;
	setup->by_id = toc_entries_by_id(toc);
}

/*
 * Make an entry for a table that others depend on, which creates nothing.
 * With such entries, pg_restore -j does not process two entries that lock the
 * same table at the same time (identify_locking_dependencies).
 */
static TocEntry
table_stub(const TocEntry *table)
{
	TocEntry	stub = *table;

	stub.defn = stub.drop_stmt = stub.copy_stmt = NULL;
	stub.had_dumper = false;
	stub.n_deps = 0;
	return stub;
}

/*
 * Remove dependencies on entries that the archive does not contain, because
 * pg_restore checks the range of their numbers.
 */
static void
keep_dependencies(TocEntry *entry, const bool *present, int max_dump_id)
{
	int		   *deps = pg_malloc((entry->n_deps + 1) * sizeof(int));
	int			n = 0;

	for (int i = 0; i < entry->n_deps; i++)
		if (entry->deps[i] > 0 && entry->deps[i] <= max_dump_id &&
			present[entry->deps[i]])
			deps[n++] = entry->deps[i];
	entry->deps = deps;
	entry->n_deps = n;
}

/*
 * Make the archive's table of contents: the tables that the entries depend
 * on, and the entries.  It owns the dependencies of its entries, and borrows
 * everything else.
 */
static Toc
make_toc(const PgRestoreSetup *setup, const TocEntry *entries, int n_entries)
{
	const Toc  *model = setup->toc;
	const TocEntry **by_id = setup->by_id;
	Toc			toc = *model;
	bool	   *present = pg_malloc0(model->max_dump_id + 1);

	toc.n_entries = 0;
	toc.entries = pg_malloc((model->n_entries + 1) * sizeof(TocEntry));
	for (int i = 0; i < n_entries; i++)
		present[entries[i].dump_id] = true;
	for (int i = 0; i < n_entries; i++)
	{
		for (int j = 0; j < entries[i].n_deps; j++)
		{
			int			id = Max(0, entries[i].deps[j]);

			if (present[id] || by_id[id] == NULL ||
				!toc_entry_is(by_id[id], "TABLE"))
				continue;
			/* stubs precede the entries that depend on them */
			present[id] = true;
			toc.entries[toc.n_entries++] = table_stub(by_id[id]);
		}
	}
	memcpy(toc.entries + toc.n_entries, entries, n_entries * sizeof(TocEntry));
	toc.n_entries += n_entries;
	for (int i = 0; i < toc.n_entries; i++)
		keep_dependencies(&toc.entries[i], present, model->max_dump_id);
	return toc;
}

static void
write_archive(const char *directory, const PgRestoreSetup *setup,
			  const TocEntry *entries, int n_entries)
{
	Toc			toc = make_toc(setup, entries, n_entries);
	CompressSpec compress = {.method = COMPRESS_NONE};
	Sink	   *sink;

	if (mkdir(directory, S_IRWXU) < 0)
		pg_fatal("could not create directory \"%s\": %m", directory);
	/* nothing is flushed: the archive is read once, and then removed */
	sink = sink_file_new(psprintf("%s/%s", directory, TOC_NAME));
	toc_write(&toc, &compress, sink);
	sink_finish(sink);
	sink_free(sink);

	for (int i = 0; i < toc.n_entries; i++)
		free(toc.entries[i].deps);
	free(toc.entries);
}

/* Add arguments.  Returns the new number of arguments. */
static int
stock_pg_restore_add_args(const char **args, int n, const char *const *more)
{
	for (; more && *more; more++)
	{
		if (n == MAX_ARGS - 4)
			pg_fatal("too many arguments for pg_restore");
		args[n++] = *more;
	}
	return n;
}

/* Add the user's options for definitions, in the same way. */
static int
add_user_args(const char **args, int n, const Options *options)
{
	if (options->no_owner)
		args[n++] = "-O";
	if (options->no_privileges)
		args[n++] = "-x";
	if (options->no_tablespaces)
		args[n++] = "--no-tablespaces";
	if (options->no_table_access_method)
		args[n++] = "--no-table-access-method";
	if (options->use_session_authorization)
		args[n++] = "--use-set-session-authorization";
	if (options->role)
		args[n++] = psprintf("--role=%s", options->role);
	return n;
}

void
stock_pg_restore_script(const PgRestoreSetup *setup, const char *name,
						const TocEntry *entries, int n_entries,
						PQExpBuffer text)
{
	static const char *const row_security[] = {"--enable-row-security", NULL};
	const char *args[MAX_ARGS];
	char	   *archive = psprintf("%s/%s", setup->directory, name);
	int			n = 0;

	write_archive(archive, setup, entries, n_entries);
	args[n++] = setup->program;
	n = add_user_args(args, n, setup->options);
	if (setup->options->enable_row_security)
		n = stock_pg_restore_add_args(args, n, row_security);
	args[n++] = "-f";
	args[n++] = "-";
	args[n++] = archive;
	args[n] = NULL;
	stock_output_read(args, NULL, text);
	if (!rmtree(archive, true))
		pg_log_warning("could not remove directory \"%s\"", archive);
}

void
stock_pg_restore_start(PgRestoreRun *run, const PgRestoreSetup *setup,
					   const char *name, const TocEntry *entries,
					   int n_entries, const char *const *more)
{
	const char *args[MAX_ARGS];
	int			n = 0;

	run->archive = psprintf("%s/%s", setup->directory, name);
	write_archive(run->archive, setup, entries, n_entries);

	args[n++] = setup->program;
	args[n++] = "-w";			/* a password was asked for already */
	if (setup->options->verbose)
		args[n++] = "-v";
	n = add_user_args(args, n, setup->options);
	n = stock_pg_restore_add_args(args, n, setup->args);
	n = stock_pg_restore_add_args(args, n, more);
	args[n++] = "-d";
	args[n++] = peer_address_for_program(setup->address);
	args[n++] = run->archive;
	args[n] = NULL;
	run->pid = child_program_start(args, peer_address_secrets(setup->address),
								   -1, &run->words, "pg_restore: ");
	/* pg_restore may connect again after the password has changed */
	run->command = setup->address->command;
	run->n_errors = setup->n_errors;
	if (run->n_errors)
	{
		run->words.counted = ERROR_WORDS;
		run->words.left_out = IGNORED_WORDS;
	}
}

/*
 * Has pg_restore ended?  If so, sets *ok to whether it succeeded, and removes
 * the archive.
 */
static bool
has_ended(PgRestoreRun *run, bool *ok)
{
	int			status;
	pid_t		gone;

	password_command_tick(run->command);
	program_words_hear(&run->words, 0, true);
	gone = waitpid(run->pid, &status, WNOHANG);
	if (gone == 0 || (gone < 0 && errno == EINTR))
		return false;
	if (gone < 0)
		pg_fatal("could not wait for child process: %m");
	run->pid = 0;
	program_words_hear(&run->words, 0, true);
	program_words_close(&run->words);
	*ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (WIFSIGNALED(status))
		pg_log_error("%s was terminated by signal %d: %s", "pg_restore",
					 WTERMSIG(status), strsignal(WTERMSIG(status)));

	/*
	 * A killed pg_restore reports no error, but counts as one.  Several runs
	 * may end at the same time, in several processes.
	 */
	if (run->n_errors && !*ok)
		(void) __sync_fetch_and_add(run->n_errors,
									Max(run->words.n_counted, 1));
	if (!rmtree(run->archive, true))
		pg_log_warning("could not remove directory \"%s\"", run->archive);
	run->archive = NULL;
	return true;
}

bool
stock_pg_restore_wait(PgRestoreRun *run)
{
	bool		ok;

	while (!has_ended(run, &ok))
	{
		interrupt_check();
		progress_tick();
		pg_usleep(LOOK_AGAIN_US);
	}
	return ok;
}

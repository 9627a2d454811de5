/*
 * stock_pg_restore.c
 *		Writes archives without data, and runs pg_restore on them.
 */
#include "base/fe_compat.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "process/child_program.h"
#include "progress/progress.h"
#include "stock/stock_output.h"
#include "stock/stock_pg_restore.h"
#include "stream/sink.h"
#include "toc/toc_file.h"

/* How often to look whether it has ended. */
#define LOOK_AGAIN_US 5000

#define MAX_ARGS 48

/*
 * What it says of an error, and at the end if it continued after some
 * (pg_restore.c:main), when the locale is C.  The number in that is too large
 * with --jobs: a worker's errors are added to those from before it began, as
 * often as it does something (pg_backup_archiver.c:restore_toc_entry).
 */
#define ERROR_WORDS "pg_restore: error: "
#define IGNORED_WORDS "pg_restore: warning: errors ignored on restore: "

char *
stock_pg_restore_find(const char *pg_dump_path)
{
	char	   *directory = pg_strdup(pg_dump_path);
	char	   *path;

	get_parent_directory(directory);
	path = psprintf("%s/pg_restore", *directory ? directory : ".");
	free(directory);
	if (child_program_is_executable(path))
		return path;
	free(path);
	path = child_program_search("pg_restore");
	if (path == NULL)
	{
		pg_log_error("program \"pg_restore\" was found neither beside pg_dump nor in PATH");
		pg_log_error_hint("pg_restore writes the schema: install PostgreSQL's client programs.");
		exit(1);
	}
	return path;
}

char *
stock_pg_restore_find_own(const Options *options, const char *argv0)
{
	char	   *path;

	if (options->pg_restore_path)
	{
		if (!child_program_is_executable(options->pg_restore_path))
			pg_fatal("there is no program \"%s\"", options->pg_restore_path);
		return pg_strdup(options->pg_restore_path);
	}
	path = child_program_find(argv0, "pg_restore");
	if (path == NULL)
	{
		pg_log_error("program \"pg_restore\" was found neither beside pg_parrestore nor in PATH");
		pg_log_error_hint("pg_restore writes the schema: install PostgreSQL's client programs, or name it by --pg-restore.");
		exit(1);
	}
	return path;
}

/* Once: runs are many, and so may be the entries. */
void
stock_pg_restore_set_toc(PgRestoreSetup *setup, const Toc *toc)
{
	setup->toc = toc;
	setup->by_id = toc_entries_by_id(toc);
}

/*
 * A table that others depend on, without anything to do: pg_restore -j keeps
 * entries apart that lock the same table (identify_locking_dependencies).
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

/* Leave only dependencies on what is there: pg_restore checks their range. */
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
 * The archive's table of contents: the tables that the entries depend on, and
 * the entries.  Its entries' dependencies are its own, all else is borrowed.
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
			present[id] = true;
			toc.entries[toc.n_entries++] = table_stub(by_id[id]);
		}
	}
	memcpy(toc.entries + toc.n_entries, entries, n_entries * sizeof(TocEntry));
	toc.n_entries += n_entries;
	for (int i = 0; i < toc.n_entries; i++)
		keep_dependencies(&toc.entries[i], present, model->max_dump_id);
	free(present);
	return toc;
}

static void
write_archive(const char *directory, const PgRestoreSetup *setup,
			  const TocEntry *entries, int n_entries)
{
	Toc			toc = make_toc(setup, entries, n_entries);
	CompressSpec compress = {.method = COMPRESS_NONE};
	char	   *path = psprintf("%s/%s", directory, TOC_NAME);
	Sink	   *sink;

	if (mkdir(directory, S_IRWXU) < 0)
		pg_fatal("could not create directory \"%s\": %m", directory);
	sink = sink_file_new(path);
	toc_write(&toc, &compress, sink);
	sink_finish(sink);
	sink_free(sink);

	for (int i = 0; i < toc.n_entries; i++)
		free(toc.entries[i].deps);
	free(toc.entries);
	free(path);
}

/* Returns how many there are then. */
static int
add_args(const char **args, int n, const char *const *more)
{
	for (; more && *more; more++)
	{
		if (n == MAX_ARGS - 4)
			pg_fatal("too many arguments for pg_restore");
		args[n++] = *more;
	}
	return n;
}

/* What the user said of how definitions are made; the same. */
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
		n = add_args(args, n, row_security);
	args[n++] = "-f";
	args[n++] = "-";
	args[n++] = archive;
	args[n] = NULL;
	stock_output_read(args, text);
	if (!rmtree(archive, true))
		pg_log_warning("could not remove directory \"%s\"", archive);
	free(archive);
}

void
stock_pg_restore_start(PgRestoreRun *run, const PgRestoreSetup *setup,
					   const char *name, const TocEntry *entries,
					   int n_entries, const char *const *more)
{
	const char *args[MAX_ARGS];
	int			err[2];
	char	   *conninfo = peer_address_for_program(setup->address);
	int			n = 0;

	run->archive = psprintf("%s/%s", setup->directory, name);
	write_archive(run->archive, setup, entries, n_entries);

	args[n++] = setup->program;
	args[n++] = "-w";			/* a password was asked for already */
	if (setup->options->verbose)
		args[n++] = "-v";
	n = add_user_args(args, n, setup->options);
	n = add_args(args, n, setup->args);
	n = add_args(args, n, more);
	args[n++] = "-d";
	args[n++] = conninfo;
	args[n++] = run->archive;
	args[n] = NULL;
	child_program_pipe(err);
	run->pid = child_program_start(setup->program, args,
								   peer_address_secrets(setup->address), -1,
								   err[1]);
	run->command = setup->address->command;
	close(err[1]);
	program_words_open(&run->words, err[0], "pg_restore: ");
	run->n_errors = setup->n_errors;
	if (run->n_errors)
	{
		run->words.counted = ERROR_WORDS;
		run->words.left_out = IGNORED_WORDS;
	}
	free(conninfo);
}

/*
 * Has it ended?  Then *ok tells whether all went well, and the archive is
 * gone.
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
		pg_fatal("%s() failed: %m", "waitpid");
	run->pid = 0;
	program_words_hear(&run->words, 0, true);
	program_words_close(&run->words);
	*ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (WIFSIGNALED(status))
		pg_log_error("pg_restore was terminated by signal %d: %s",
					 WTERMSIG(status), strsignal(WTERMSIG(status)));
	/* one that was killed says nothing */
	if (run->n_errors && !*ok)
		(void) __sync_fetch_and_add(run->n_errors,
									Max(run->words.n_counted, 1));
	if (!rmtree(run->archive, true))
		pg_log_warning("could not remove directory \"%s\"", run->archive);
	free(run->archive);
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

/*
 * archive_piped.c
 *		Opens an archive whose files are returned by commands, and copies its
 *		files with commands.
 *
 * An attempt reads both toc.dat and the manifest, which contains the checksum
 * of toc.dat.  So both are from the same archive, even if another dump
 * replaces the archive meanwhile.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "archive/archive_piped.h"
#include "archive/archive_prefetch.h"
#include "archive/archive_read.h"
#include "archive/toc_file.h"
#include "base/checksum.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "options/option_table.h"
#include "stream/regular_file.h"

/* Remove the private directory.  This is an exit callback. */
static void
archive_piped_remove_directory(void *arg)
{
	const ArchiveCommands *commands = arg;

	if (!rmtree(commands->directory, true))
		pg_log_warning("could not remove directory \"%s\"", commands->directory);
}

/* Store toc.dat in the private directory.  A later attempt replaces it. */
static void
store_toc(const Archive *archive, const char *text, size_t len)
{
	int			fd = openat(archive->fd, TOC_NAME,
							O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || !write_at(fd, text, len, 0) || close(fd) < 0)
		pg_fatal("could not write file \"%s/%s\": %m",
				 archive->commands->directory, TOC_NAME);
}

/* Does the table of contents have the checksum in the manifest? */
static bool
is_of_manifest(const Manifest *manifest, const char *text, size_t len)
{
	const ManifestFile *file = manifest_find(manifest, TOC_NAME);
	pg_checksum_context sum;
	uint8		got[PG_CHECKSUM_MAX_LENGTH];

	checksum_begin(&sum, manifest->checksum_type);
	checksum_add(&sum, text, len);
	return file && file->stored_bytes == len &&
		checksum_end(&sum, got) == file->checksum_len &&
		memcmp(got, file->checksum, file->checksum_len) == 0;
}

/*
 * Read toc.dat, whose command has started, and the manifest, whose command
 * may have started.  Frees the first reader.  Returns as read_piped().
 */
static char *
read_both(Archive *archive, CommandReader *toc, CommandReader *manifest,
		  char **error)
{
	ArchiveCommands *commands = archive->commands;
	pg_checksum_context identity;
	size_t		len;
	char	   *owned_problem;
	const char *problem;
	char	   *text = archive_read_started(archive, toc, &len,
											&owned_problem);

	if (text == NULL)
		return owned_problem;
	store_toc(archive, text, len);
	problem = archive_open_toc(archive,
							   data_reader_new_file(openat(archive->fd, TOC_NAME, O_RDONLY | O_CLOEXEC),
													COMPRESS_NONE));
	if (problem && strcmp(problem, TOC_READ_UNSUPPORTED) == 0)
		archive_open_damaged(archive, problem);
	if (problem)
	{
		*error = psprintf(ARCHIVE_FILE_DAMAGED, TOC_NAME, archive->path);
		return pg_strdup(problem);
	}
	checksum_begin(&identity, CHECKSUM_TYPE_SHA256);
	checksum_add(&identity, text, len);
	if (toc_has_mark(archive->toc))
		owned_problem = archive_read_manifest(archive, manifest, &identity);
	if (owned_problem)
		*error = psprintf("could not read the manifest of archive \"%s\"", archive->path);
	if (archive->manifest && !is_of_manifest(archive->manifest, text, len))
		owned_problem = psprintf("file \"%s\" of archive \"%s\" does not match its checksum in the manifest",
								 TOC_NAME, archive->path);
	free(text);
	commands->identity = checksum_end_hex(&identity);
	return owned_problem;
}

/*
 * Read toc.dat and the manifest once.  Returns the cause of an error, owned,
 * or NULL.  *error is the error, or NULL if it has no other text.
 *
 * With "together", the command of the manifest starts before toc.dat shows
 * whether there is a manifest.  If there is none, the command is ended, and
 * its messages and its failure are ignored.  The command of toc.dat starts
 * first, as it is read first: if a store serves one command at a time, the
 * other one may wait until its output is read.
 */
static char *
read_piped(Archive *archive, bool together, char **error)
{
	CommandReader *toc;
	CommandReader *manifest = NULL;
	char	   *problem;

	/* do not compare toc.dat with the manifest of an earlier attempt */
	archive->manifest = NULL;
	*error = NULL;
	toc = archive_prefetch_open(archive, TOC_NAME, NULL);
	if (together && archive->commands->most_early > 0)
		manifest = command_reader_new(&archive->commands->command,
									  MANIFEST_NAME, NULL, NULL,
									  COMMAND_MAY_FAIL);
	problem = read_both(archive, toc, manifest, error);
	if (manifest)
		command_reader_free(manifest);
	return problem;
}

Archive *
archive_piped_new(const Options *options, const char *pattern)
{
	Archive    *archive = pg_malloc0(sizeof(Archive));
	ArchiveCommands *commands = pg_malloc0(sizeof(ArchiveCommands));

	archive->path = pg_strdup(pattern);
	toc_set_archive(archive->path);
	archive->kind = ARCHIVE_DIRECTORY;
	archive->commands = commands;
	commands->command.pattern = archive->path;
	commands->command.stall_timeout = options->stall_timeout;
	commands->retries = (int) options->retries;
	commands->most_early = option_value_prefetch(options->pipe_prefetch,
												 options->jobs);
	/* keep the leader's standard error: workers get pipes instead */
	commands->command.err_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (commands->command.err_fd < 0)
		pg_fatal("could not duplicate standard error: %m");
	return archive;
}

Archive *
archive_piped_open(const Options *options)
{
	Archive    *archive = archive_piped_new(options, options->pipe_command);
	ArchiveCommands *commands = archive->commands;
	Retry		retry = {0};
	char	   *problem;
	char	   *error;

	commands->directory = directory_make_private();
	cleanup_push(archive_piped_remove_directory, commands);
	archive->fd = open(commands->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (archive->fd < 0)
		pg_fatal("could not open directory \"%s\": %m", commands->directory);

	/*
	 * A store may refuse a second command at the same time, or end the
	 * command of the manifest while it waits for its reader.  So the commands
	 * of a retry run one after the other.
	 */
	while ((problem = read_piped(archive, retry.n == 0, &error)) != NULL)
		if (!archive_read_again(archive, &retry, problem))
		{
			archive_read_report(archive, &retry, error ? error : problem,
								error ? problem : NULL);
			exit(options->verify && command_reader_last_failed() ?
				 ARCHIVE_EXIT_UNREAD : 1);
		}
	if (archive->manifest == NULL)
	{
		pg_log_warning(ARCHIVE_NO_MANIFEST, archive->path);
		pg_log_warning_detail("Files are read without checksums.");
	}
	archive->encoding = toc_encoding(archive->toc);
	archive->stored_bytes = pg_malloc0((archive->toc->n_entries + 1) *
									   sizeof(uint64));
	return archive;
}

void
archive_piped_forget_toc(Archive *archive)
{
	cleanup_pop(archive_piped_remove_directory, archive->commands);
	close(archive->fd);
	archive->fd = -1;
	archive_piped_remove_directory(archive->commands);
}

char *
archive_piped_identity(const Options *options, const char *pattern)
{
	Options		of_archive = *options;
	Archive    *archive;
	char	   *identity;

	of_archive.pipe_command = pattern;
	archive = archive_piped_open(&of_archive);
	identity = archive->commands->identity;
	archive_piped_forget_toc(archive);
	/* close it, because there may be many databases, each with an archive */
	close(archive->commands->command.err_fd);
	toc_free(archive->toc);
	if (archive->manifest)
		manifest_free(archive->manifest);
	return identity;
}

/* ----------
 * Files of large objects for which commands return no data.
 * ----------
 */

/* The number of files that the warning names. */
#define MOST_NAMES 10

void
archive_piped_add_empty(PQExpBuffer names, int *n, const char *name)
{
	if ((*n)++ < MOST_NAMES)
		units_names_add(names, name);
}

void
archive_piped_warn_empty(const Archive *archive, const char *names, int n)
{
	if (n == 0)
		return;
	pg_log_warning(ngettext("commands of archive \"%s\" returned no data for %d large object",
							"commands of archive \"%s\" returned no data for %d large objects",
							n), archive->path, n);
	pg_log_warning_detail("Files: %s.", units_names(names, n, MOST_NAMES));
	pg_log_warning_detail("Without a manifest, it is not known whether a file is missing, or is empty because its large object is empty.");
	pg_log_warning_hint("Check that these files exist in the store.");
}

/* ----------
 * Copies files to another archive.
 * ----------
 */

/*
 * Run the command once.  Its output is written to standard error, for the
 * user.  Returns the cause of an error, owned, or NULL.
 */
static char *
copy_piped(const Archive *archive, const char *old_name, const char *name)
{
	const ReadCommand *command = &archive->commands->command;
	CommandReader *reader = command_reader_new(command, name, old_name, NULL,
											   COMMAND_IS_NEEDED);
	char		buf[8192];
	ssize_t		len;
	char	   *problem = NULL;

	while ((len = command_reader_read(reader, buf, sizeof(buf))) > 0)
	{
		ssize_t		written pg_attribute_unused();

		written = write(command->err_fd, buf, len);
	}
	if (len < 0)
		problem = pg_strdup(command_reader_error(reader));
	command_reader_free(reader);
	return problem;
}

void
archive_piped_copy(const Archive *archive, const char *old_name,
				   const char *name)
{
	Retry		retry = {0};
	char	   *problem;

	while ((problem = copy_piped(archive, old_name, name)) != NULL)
	{
		if (!archive_read_again(archive, &retry, problem))
		{
			archive_read_report(archive, &retry,
								psprintf("could not copy file \"%s\" of the previous archive", old_name),
								problem);
			pg_log_error_hint("If the file is missing, use another previous archive, or dump without --incremental-pipe and --pipe-copy.");
			exit(1);
		}
		free(problem);
	}
}

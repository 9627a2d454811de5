/*
 * archive_read.c
 *		Opens the files of an archive, in a directory or through commands.
 *
 * A command cannot show which files exist: it fails in the same way for a
 * missing file and for a store that does not answer.  So the names of files
 * come from the table of contents, the manifest and the lists of large
 * objects.
 *
 * A command that fails, or returns wrong bytes, may succeed when it is run
 * again.  The caller then discards what it has made of the file, and reads
 * the file from its beginning.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "archive/archive_prefetch.h"
#include "archive/archive_read.h"
#include "base/buffer.h"
#include "base/checksum.h"
#include "base/interrupt.h"
#include "base/units.h"

/* How often to check for signals while this process waits. */
#define LOOK_AGAIN_MS 100

char *
archive_read_name(const Archive *archive, const char *name,
				  CompressMethod method, const ManifestFile **want,
				  const char **problem)
{
	*want = archive->manifest ? manifest_find(archive->manifest, name) : NULL;
	if (!archive_name_is_harmless(name))
		*problem = psprintf(ARCHIVE_NAME_INVALID, printable(name));
	/* without an entry, the file would be read without a checksum */
	else if (archive->manifest && *want == NULL)
		*problem = psprintf(ARCHIVE_READ_UNLISTED, printable(name));
	else
		return *want ? pg_strdup((*want)->path) :
			archive_name_compressed(name, archive_name_method(name) == COMPRESS_NONE ?
									method : COMPRESS_NONE);
	return NULL;
}

/*
 * Returns the reader of a file through a command.  Returns NULL and sets
 * *problem if the name is not valid or not in the manifest.
 */
static DataReader *
archive_read_command(const Archive *archive, const char *name,
					 CompressMethod method, const char **problem)
{
	const ManifestFile *want;
	char	   *full = archive_read_name(archive, name, method, &want, problem);
	CommandReader *command;

	if (full == NULL)
		return NULL;
	command = archive_prefetch_open(archive, full, want);
	method = archive_name_method(full);
	free(full);
	return data_reader_new_command(command, method);
}

DataReader *
archive_read_open(const Archive *archive, const char *name,
				  CompressMethod method, const char **problem)
{
	int			fd;

	if (archive->commands)
		return archive_read_command(archive, name, method, problem);
	fd = archive_lookup_open(archive->fd, name, &method, problem);
	return fd < 0 ? NULL : data_reader_new_file(fd, method);
}

/* Read all that a command returns, as archive_read_all() does. */
static char *
read_all(CommandReader *reader, size_t *len, char **problem)
{
	PQExpBufferData text = buffer_new();
	char		buf[8192];
	ssize_t		got;

	command_reader_limit(reader, ARCHIVE_READ_MOST_BYTES);
	while ((got = command_reader_read(reader, buf, sizeof(buf))) > 0)
	{
		appendBinaryPQExpBuffer(&text, buf, got);
		/* exits if there is not enough memory */
		(void) buffer_text(&text);
	}
	*problem = got < 0 ? pg_strdup(command_reader_error(reader)) : NULL;
	*len = text.len;
	if (*problem == NULL)
		return text.data;
	termPQExpBuffer(&text);
	return NULL;
}

char *
archive_read_started(const Archive *archive, CommandReader *reader,
					 size_t *len, char **problem)
{
	char	   *text = read_all(reader, len, problem);

	archive->commands->latency_ms = command_reader_latency_ms(reader);
	command_reader_free(reader);
	return text;
}

char *
archive_read_all(const Archive *archive, const char *name, size_t *len,
				 char **problem)
{
	CommandReader *reader = archive_prefetch_open(archive, name, archive->manifest ?
												  manifest_find(archive->manifest, name) : NULL);

	return archive_read_started(archive, reader, len, problem);
}

char *
archive_read_manifest(Archive *archive, CommandReader *reader,
					  pg_checksum_context *identity)
{
	size_t		len;
	char	   *owned_problem;
	const char *problem;
	char	   *text = reader ? read_all(reader, &len, &owned_problem) :
		archive_read_all(archive, MANIFEST_NAME, &len, &owned_problem);

	if (text == NULL)
		return owned_problem;
	if (identity)
		checksum_add(identity, text, len);
	archive->manifest = manifest_read(text, len, &problem);
	free(text);
	return archive->manifest ? NULL : pg_strdup(problem);
}

void
archive_read_check_manifest_size(uint64 bytes)
{
	if (bytes <= ARCHIVE_READ_MOST_BYTES)
		return;
	pg_log_warning("the manifest is too large to be read through commands");
	pg_log_warning_detail("It has %s; the limit is %s.", units_size(bytes),
						  units_size(ARCHIVE_READ_MOST_BYTES));
	pg_log_warning_hint("Before you restore or verify the archive, copy it into a directory.");
}

bool
archive_read_again(const Archive *archive, Retry *retry, const char *problem)
{
	int			delay_ms;

	if (archive_prefetch_failed(archive))
	{
		pg_log_info("a command that was started early failed; running the command again");
		pg_log_info_detail("%s", message_sentence(problem));
		return true;
	}
	if (archive->commands == NULL || retry->n >= archive->commands->retries)
		return false;
	delay_ms = retry_later(retry);
	pg_log_warning("the command for a file failed; retry %d of %d in %.1f s",
				   retry->n, archive->commands->retries, delay_ms / 1000.0);
	pg_log_warning_detail("%s", message_sentence(problem));
	pg_log_warning_detail("Command was: %s", command_reader_last());
	while (!retry_is_due(retry))
	{
		interrupt_check();
		pg_usleep(LOOK_AGAIN_MS * 1000L);
	}
	return true;
}

void
archive_read_report(const Archive *archive, const Retry *retry,
					const char *error, const char *cause)
{
	pg_log_error("%s", error);
	if (cause)
		pg_log_error_detail("%s", message_sentence(cause));
	if (archive->commands)
		pg_log_error_detail("Command was: %s", command_reader_last());
	if (retry->n > 0)
		pg_log_error_detail("The command was run %d times.", retry->n + 1);
}

void
archive_read_failed(const Archive *archive, const Retry *retry,
					const char *error, const char *cause)
{
	archive_read_report(archive, retry, error, cause);
	exit(1);
}

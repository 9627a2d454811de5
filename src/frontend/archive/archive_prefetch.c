/*
 * archive_prefetch.c
 *		Starts commands that return files of an archive before a worker needs
 *		the files.
 *
 * The number of commands that a worker starts early depends on their latency.
 * It begins with one.  If the worker needs a file, and its command has not
 * written a byte yet, the number doubles, up to the worker's share of
 * --pipe-prefetch.  If a command fails, or cannot be started early, the
 * worker starts none early until its next job, and then begins with one
 * again.
 *
 * The last jobs are too few for all workers to reserve some.  A worker
 * reserves one of them if it will have read its current file before the
 * command can return a byte.  Another worker that is ready earlier would have
 * to wait for the command, too.
 *
 * If a command waits too long for its reader, its store may close the
 * connection.  And other workers cannot do the jobs that this worker has
 * reserved.  So a command is not started early if more than PREFETCH_BYTES
 * are to be read before its file.
 */
#include "base/fe_compat.h"

#include "archive/archive_prefetch.h"
#include "base/clock.h"
#include "options/options.h"
#include "process/child_program.h"
#include "process/worker_process.h"

/* In stored bytes. */
#define PREFETCH_BYTES ((uint64) 64 * 1024 * 1024)

StaticAssertDecl(PIPE_PREFETCH_OF_WORKER <= WORKER_MOST_RESERVED,
				 "each command may need a job of its own");
StaticAssertDecl(PIPE_PREFETCH_OF_WORKER + 4 <= CHILD_PROCESS_MOST_ASKED,
				 "all commands must be known to the process that ends them");

/* A command whose file is not read yet. */
typedef struct StartedCommand
{
	char	   *path;
	uint64		bytes;			/* size of the file; 0 = not known */
	int			job;
	CommandReader *reader;
} StartedCommand;

struct ArchivePrefetch
{
	PrefetchFileOfJob file_of_job;
	void	   *arg;
	int			window;			/* number of commands to start early */
	StartedCommand started[PIPE_PREFETCH_OF_WORKER];	/* in reading order */
	int			n;
	int			job;			/* current job */
	int			last_job;		/* job that was reserved last, or job */
	int			next_file;		/* the first file of last_job whose command
								 * was not started */
	bool		no_more;		/* no job could be reserved during the current
								 * file */
	bool		no_last;		/* nor one of the last jobs */
	bool		is_early;		/* the command of the current file was started
								 * early */
	char	   *path;			/* current file */
	int64		start_ms;		/* when its first bytes were read; 0 = none
								 * were read */
	const ManifestFile *want;
};

void
archive_prefetch_begin(const Archive *archive, PrefetchFileOfJob file_of_job,
					   void *arg)
{
	ArchivePrefetch *prefetch;

	if (archive->commands == NULL || archive->commands->most_early == 0)
		return;
	prefetch = pg_malloc0(sizeof(ArchivePrefetch));
	prefetch->file_of_job = file_of_job;
	prefetch->arg = arg;
	prefetch->window = 1;
	archive->commands->prefetch = prefetch;
}

/* Returns the state of this worker; NULL = it starts no commands early. */
static ArchivePrefetch *
prefetch_of(const Archive *archive)
{
	return archive->commands ? archive->commands->prefetch : NULL;
}

/* ----------
 * Commands
 * ----------
 */
static CommandReader *
start_command(const Archive *archive, const char *path,
			  const ManifestFile *want, CommandUse use)
{
	ExpectedBytes expected = {0};

	if (want)
	{
		expected.n = want->stored_bytes;
		expected.checksum_type = archive->manifest->checksum_type;
		expected.checksum = want->checksum;
		expected.checksum_len = want->checksum_len;
	}
	return command_reader_new(&archive->commands->command, path, NULL,
							  want ? &expected : NULL, use);
}

/* Remove the commands from "first" to before "end", and end them. */
static void
remove_commands(ArchivePrefetch *prefetch, int first, int end)
{
	for (int i = first; i < end; i++)
	{
		if (prefetch->started[i].reader)
			command_reader_free(prefetch->started[i].reader);
		free(prefetch->started[i].path);
	}
	memmove(&prefetch->started[first], &prefetch->started[end],
			(prefetch->n - end) * sizeof(StartedCommand));
	prefetch->n -= end - first;
}

/*
 * Returns the command of the file if it was started early, otherwise NULL.
 * The worker has left out files before this one, so their commands are ended.
 */
static CommandReader *
take_command(const Archive *archive, const char *path)
{
	ArchivePrefetch *prefetch = prefetch_of(archive);

	for (int i = 0; i < prefetch->n; i++)
	{
		CommandReader *reader = prefetch->started[i].reader;

		if (strcmp(prefetch->started[i].path, path) != 0)
			continue;
		if (!command_reader_is_ready(reader))
			prefetch->window = Min(prefetch->window * 2,
								   archive->commands->most_early);
		/* the caller frees it */
		prefetch->started[i].reader = NULL;
		remove_commands(prefetch, 0, i + 1);
		return reader;
	}
	return NULL;
}

/* ----------
 * Files that the worker reads next
 * ----------
 */

/*
 * Find the next file, which is a file of last_job.  Returns false if it is
 * not known.
 */
static bool
next_file(ArchivePrefetch *prefetch, PrefetchFile *file, bool last)
{
	int			job;

	for (;;)
	{
		while (prefetch->file_of_job(prefetch->arg, prefetch->last_job,
									 prefetch->next_file, file))
		{
			prefetch->next_file++;
			if (file->path && strcmp(file->path, prefetch->path) != 0)
				return true;
			free(file->path);
		}
		job = worker_process_reserve_job(last);
		if (job == NO_JOB)
			break;
		prefetch->last_job = job;
		prefetch->next_file = 0;
	}
	prefetch->no_more = true;
	prefetch->no_last |= last;
	return false;
}

/*
 * Will the worker have read these bytes before a command that starts now
 * returns its first byte?  The first half of the current file shows how fast
 * it reads: the very first bytes only fill buffers.
 */
static bool
ends_soon(const Archive *archive, uint64 n_read, uint64 bytes)
{
	const ArchivePrefetch *prefetch = prefetch_of(archive);

	return n_read > 0 && n_read * 2 >= prefetch->want->stored_bytes &&
		(double) (clock_monotonic_ms() - prefetch->start_ms) * bytes / n_read <=
		archive->commands->latency_ms;
}

/*
 * Start commands of the next files.  n_read bytes of the current file were
 * read, and this number of bytes is still to be read.
 */
static void
start_next(const Archive *archive, uint64 n_read, uint64 bytes)
{
	ArchivePrefetch *prefetch = prefetch_of(archive);
	StartedCommand *command;
	PrefetchFile file;

	for (int i = 0; i < prefetch->n; i++)
		bytes += prefetch->started[i].bytes;
	while (prefetch->n < prefetch->window && bytes <= PREFETCH_BYTES)
	{
		bool		last = !prefetch->no_last &&
			ends_soon(archive, n_read, bytes);

		if ((prefetch->no_more && !last) || !next_file(prefetch, &file, last))
			break;
		command = &prefetch->started[prefetch->n];
		command->path = file.path;
		command->bytes = file.want ? file.want->stored_bytes : 0;
		command->job = prefetch->last_job;
		command->reader = start_command(archive, file.path, file.want,
										COMMAND_IS_EARLY);
		bytes += command->bytes;
		if (command->reader)
			prefetch->n++;
		else
		{
			/* the worker starts the command when it needs the file */
			free(file.path);
			prefetch->window = 0;
		}
	}
}

/* Returns the number of commands for files of the current job. */
static int
count_of_job(const ArchivePrefetch *prefetch)
{
	int			n = 0;

	while (n < prefetch->n && prefetch->started[n].job == prefetch->job)
		n++;
	return n;
}

/*
 * Without a manifest, the current file has turned out to be long.  Release
 * the reserved jobs, so that other workers do not have to wait for this one.
 * End the commands first, so that no file is read twice at the same time.
 */
static void
release_jobs(ArchivePrefetch *prefetch)
{
	if (prefetch->last_job == prefetch->job)
		return;
	remove_commands(prefetch, count_of_job(prefetch), prefetch->n);
	worker_process_release_jobs();
	prefetch->last_job = prefetch->job;
	/* the commands of all files of this job were started */
	prefetch->next_file = PG_INT32_MAX;
	prefetch->no_more = true;
}

/* The callback of the command that is being read. */
static void
archive_prefetch_progress(void *arg, uint64 n_read)
{
	const Archive *archive = arg;
	ArchivePrefetch *prefetch = prefetch_of(archive);

	if (prefetch->start_ms == 0)
		prefetch->start_ms = clock_monotonic_ms();
	if (prefetch->want)
		start_next(archive, n_read, prefetch->want->stored_bytes - n_read);
	else if (n_read > PREFETCH_BYTES)
		release_jobs(prefetch);
}

/* ----------
 * In a worker
 * ----------
 */
void
archive_prefetch_begin_job(const Archive *archive, int job)
{
	ArchivePrefetch *prefetch = prefetch_of(archive);

	if (prefetch == NULL)
		return;
	/* files of the previous job that were left out */
	remove_commands(prefetch, 0, count_of_job(prefetch));
	prefetch->window = Max(prefetch->window, 1);
	if (prefetch->last_job == prefetch->job)
	{
		/* the worker had not reserved this job */
		prefetch->last_job = job;
		prefetch->next_file = 0;
	}
	prefetch->job = job;
}

CommandReader *
archive_prefetch_open(const Archive *archive, const char *path,
					  const ManifestFile *want)
{
	ArchivePrefetch *prefetch = prefetch_of(archive);
	CommandReader *reader = prefetch ? take_command(archive, path) : NULL;
	bool		is_early = reader != NULL;

	if (reader == NULL)
		reader = start_command(archive, path, want, COMMAND_IS_NEEDED);
	if (prefetch == NULL)
		return reader;
	command_reader_watch(reader, archive_prefetch_progress,
						 unconstify(Archive *, archive));
	prefetch->is_early = is_early;
	free(prefetch->path);
	prefetch->path = pg_strdup(path);
	prefetch->want = want;
	prefetch->start_ms = 0;
	prefetch->no_more = prefetch->no_last = false;
	start_next(archive, 0, want ? want->stored_bytes : 0);
	return reader;
}

bool
archive_prefetch_failed(const Archive *archive)
{
	ArchivePrefetch *prefetch = prefetch_of(archive);
	bool		was_early;

	if (prefetch == NULL)
		return false;
	was_early = prefetch->is_early;
	/* without early commands, this returns false until the next job */
	prefetch->is_early = false;
	prefetch->window = 0;

	/*
	 * A store may serve a limited number of commands at the same time.  Then
	 * the command that has failed may have waited for one of these, which
	 * itself waits for its reader.
	 */
	remove_commands(prefetch, 0, prefetch->n);
	return was_early;
}

/*
 * archive_prefetch.h
 *		Starts commands that return files of an archive before a worker needs
 *		the files (--pipe-prefetch).
 *
 * Each file that is read through a command costs the start of the command,
 * and the time until its store sends the first byte.  For small files, this
 * is most of the time.  So while a worker reads a file, the commands of its
 * next files already run.  Each of them writes into its pipe, and waits when
 * the pipe is full.
 *
 * The next files of a job are known.  For more files, the worker reserves its
 * next jobs (worker_process_reserve_job()).
 */
#ifndef ARCHIVE_PREFETCH_H
#define ARCHIVE_PREFETCH_H

#include "archive/archive_open.h"

/* A file that a worker will read. */
typedef struct PrefetchFile
{
	char	   *path;			/* as in archive_prefetch_open(); owned */
	const ManifestFile *want;	/* NULL = there is no manifest */
} PrefetchFile;

/*
 * Sets *file to file number "no", from 0, of a job, in the order in which the
 * worker reads them.  The path is NULL if no command will be run for this
 * file.  Returns false if the job has no more files.
 */
typedef bool (*PrefetchFileOfJob) (void *arg, int job, int no,
								   PrefetchFile *file);

/*
 * In a worker, before its first job: start commands early from now on.  Does
 * nothing with --pipe-prefetch=0, or if the archive is in a directory.
 */
extern void archive_prefetch_begin(const Archive *archive,
								   PrefetchFileOfJob file_of_job, void *arg);

/* In a worker: a job begins. */
extern void archive_prefetch_begin_job(const Archive *archive, int job);

/*
 * Open the file with this name: start its command, unless the command already
 * runs, and start commands of the next files.  The output is compared with
 * the manifest's entry, unless that is NULL.
 */
extern CommandReader *archive_prefetch_open(const Archive *archive,
											const char *path,
											const ManifestFile *want);

/*
 * Reading the current file has failed.  Was its command started early?  A
 * store may have ended it while it waited for its reader.  So this failure
 * does not count as one of --retries.  In any case, other commands that were
 * started early are ended, and none is started early for the rest of the job.
 */
extern bool archive_prefetch_failed(const Archive *archive);

#endif							/* ARCHIVE_PREFETCH_H */

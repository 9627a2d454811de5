/*
 * file_result.h
 *		The result of each data file and each large object, which workers
 *		write to shared memory.
 *
 * A worker writes the result of a file when the file is complete.  If a file
 * is made again, by another worker after the first was lost, the second
 * result replaces the first.  The leader may look at any time; it takes as
 * true only results that are done.
 */
#ifndef FILE_RESULT_H
#define FILE_RESULT_H

#include "common/checksum_helper.h"

/* A hash of at most SHA-256's length. */
typedef struct FileHash
{
	uint8		bytes[32];
	int			len;			/* 0 = none */
} FileHash;

typedef struct FileResult
{
	uint64		rows;			/* 0 for a large object */
	uint64		raw_bytes;		/* of rows, see progress.h */
	uint64		stored_bytes;	/* in the file; without one, as they were sent
								 * to the target */
	uint8		checksum[PG_CHECKSUM_MAX_LENGTH];	/* of the stored bytes */
	int			checksum_len;	/* 0 if none was asked for */
	int64		start_us;		/* microseconds since 1970 */
	int64		end_us;
	int			worker;			/* who made it, from 0 */
	int			server;			/* it was read from, of several; from 0 */
	int			parts_before;	/* of those that an earlier run has made of a
								 * file that this one completes */
	uint64		bytes_before;	/* what is expected of them */
	FileHash	fingerprint;	/* see manifest.h */
	FileHash	first_fingerprint;
	FileHash	definition;
	const char *reused;			/* how a previous archive's file came here: a
								 * constant; NULL if it is new */
	const char *new_reason;		/* why it was, though there is a previous
								 * archive: a constant, or the plan's; else
								 * NULL */
	volatile bool incomplete;	/* when it is done: some, or all, of it could
								 * not be had, and is left out */
	volatile bool done;			/* set last: all else is valid */
} FileResult;

/*
 * What a worker is doing.  Rows and bytes are those of the file it is making,
 * and 0 between files, so that those of all done files and these add up to
 * what has been dumped.  Rows and raw bytes that the server compresses, or
 * sends as raw tuples, count when the file is done.
 */
typedef struct WorkerProgress
{
	volatile int job;			/* -1 = none */
	volatile int64 idle_us;		/* since when, if it has done one before */
	volatile uint64 rows;
	volatile uint64 raw_bytes;
	volatile uint64 stored_bytes;
} WorkerProgress;

typedef struct FileResults
{
	FileResult *files;			/* by data file, as in ChunkPlan.files */
	int			n_files;
	FileResult **shares;		/* by data file: room for what each worker did
								 * of it, by worker; NULL if one makes all of
								 * it */
	const volatile bool *is_shared; /* by data file: which of those with room
									 * have proved to be made by several; NULL
									 * = all */
	FileResult *objects;		/* by large object, see LargeObjectGroup */
	int			n_objects;
	FileResult *lists;			/* by list of large objects; by the leader */
	int			n_lists;
	FileResult *toc;			/* toc.dat; by the leader */
	pg_checksum_type checksum_type;
	WorkerProgress *workers;
	int			n_workers;
	int			worker;			/* in a worker: its own number */
	int			server;			/* in a worker: it reads from, of several */
} FileResults;

typedef struct FileTotals
{
	uint64		rows;
	uint64		raw_bytes;
	uint64		stored_bytes;
	int			n_done;			/* files and large objects */
} FileTotals;

/* In shared memory, all zero; made before workers are forked, never freed. */
extern FileResults *file_results_new(int n_files, int n_objects, int n_lists,
									 int n_workers,
									 pg_checksum_type checksum_type);

/* In a worker: take results as its own from now on. */
extern void file_results_begin_worker(FileResults *results, int worker);

/* In a worker: the job it is doing, -1 for none. */
extern void file_results_begin_job(FileResults *results, int job);

/* What each worker did of a data file; NULL if one makes all of it. */
extern const FileResult *file_results_shares(const FileResults *results,
											 int no);

/*
 * In a worker: rows or an object are on a target; all is known but whether
 * they will be committed.
 */
extern void file_result_set(const FileResults *results, FileResult *result,
							int64 start_us, uint64 rows, uint64 raw_bytes,
							uint64 sent_bytes);

/*
 * In a worker: a part of a file that several make is on a target, committed.
 */
extern void file_result_add(const FileResults *results, FileResult *result,
							int64 start_us, uint64 rows, uint64 bytes);

/* The calling worker's progress. */
extern WorkerProgress *file_results_progress(FileResults *results);

/*
 * Of all rows and large objects that are done, and of what is being made now.
 */
extern FileTotals file_results_total(const FileResults *results);

/* Of what is done, that of one server of several. */
extern FileTotals file_results_of_server(const FileResults *results, int server);

#endif							/* FILE_RESULT_H */

/*
 * file_result.h
 *		The result of each data file and each large object, in shared memory,
 *		which workers write and the leader reads.
 *
 * A worker writes the result of a file when the file is complete.  If the
 * worker was lost, and another one repeats the file, the second result
 * replaces the first.  The leader may read at any time; only results that are
 * marked as done are valid.
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
	uint64		stored_bytes;	/* in the file; in a copy or restore, as sent
								 * to the target */
	uint8		checksum[PG_CHECKSUM_MAX_LENGTH];	/* of the stored bytes */
	int			checksum_len;	/* 0 without a checksum */
	int64		start_us;		/* microseconds since 1970 */
	int64		end_us;
	int			worker;			/* number of the worker, from 0 */
	int			server;			/* number of the server it was read from; from
								 * 0 */
	int			parts_before;	/* parts that an earlier run has finished, of
								 * a file that this run completes */
	uint64		bytes_before;	/* expected bytes of these parts */
	FileHash	fingerprint;	/* see manifest.h */
	FileHash	first_fingerprint;
	FileHash	definition;
	const char *reused;			/* how a previous archive's file was reused: a
								 * constant; NULL if the file is new */
	const char *new_reason;		/* why it is new, although there is a previous
								 * archive: a constant, or the plan's text;
								 * otherwise NULL */
	bool		no_data;		/* see archive_objects_has_no_data() */
	volatile bool incomplete;	/* if done: some or all rows could not be
								 * loaded, and were left out */
	volatile bool done;			/* set last, when the others are valid */
} FileResult;

/*
 * The current work of a worker.  Rows and bytes belong to the current file,
 * and are 0 between files, so their sum with the results of finished files is
 * the total.  If the server compresses, or sends raw tuples, rows and raw
 * bytes only count when the file is done.
 */
typedef struct WorkerProgress
{
	volatile int job;			/* -1 = none */
	volatile int64 idle_us;		/* since when it is idle, if it has done a job
								 * before */
	volatile uint64 rows;
	volatile uint64 raw_bytes;
	volatile uint64 stored_bytes;
} WorkerProgress;

typedef struct FileResults
{
	FileResult *files;			/* by data file, as in ChunkPlan.files */
	int			n_files;
	FileResult **shares;		/* by data file: room for the share of each
								 * worker, by worker; NULL if one worker makes
								 * the whole file */
	const volatile bool *is_shared; /* by data file: which of the files with
									 * room are made by several workers; NULL
									 * = all */
	FileResult *objects;		/* by large object, see LargeObjectGroup */
	int			n_objects;
	FileResult *lists;			/* by list of large objects; written by the
								 * leader */
	int			n_lists;
	FileResult *toc;			/* of toc.dat; written by the leader */
	pg_checksum_type checksum_type;
	WorkerProgress *workers;
	int			n_workers;
	int			worker;			/* in a worker: its own number */
	int			server;			/* in a worker: number of the server it reads
								 * from */
} FileResults;

typedef struct FileTotals
{
	uint64		rows;
	uint64		raw_bytes;
	uint64		stored_bytes;
	int			n_done;			/* files and large objects */
} FileTotals;

/*
 * Allocate the results in shared memory, all zero, before workers are forked;
 * never freed.
 */
extern FileResults *file_results_new(int n_files, int n_objects, int n_lists,
									 int n_workers,
									 pg_checksum_type checksum_type);

/* In a worker: begin to write results with its number. */
extern void file_results_begin_worker(FileResults *results, int worker);

/* In a worker: set the current job, -1 for none. */
extern void file_results_begin_job(FileResults *results, int job);

/* What each worker did of a data file; NULL if one makes all of it. */
extern const FileResult *file_results_shares(const FileResults *results,
											 int no);

/*
 * In a worker: set the result of a file or a large object that was loaded
 * into a target.  Only the COMMIT is missing.
 */
extern void file_result_set(const FileResults *results, FileResult *result,
							int64 start_us, uint64 rows, uint64 raw_bytes,
							uint64 sent_bytes);

/*
 * In a worker: add a part of a file that several workers load, after its
 * COMMIT.
 */
extern void file_result_add(const FileResults *results, FileResult *result,
							int64 start_us, uint64 rows, uint64 bytes);

/* The calling worker's progress. */
extern WorkerProgress *file_results_progress(FileResults *results);

/* The totals of all finished files and large objects, and of current work. */
extern FileTotals file_results_total(const FileResults *results);

/* The totals of finished files from one of several servers. */
extern FileTotals file_results_of_server(const FileResults *results, int server);

#endif							/* FILE_RESULT_H */

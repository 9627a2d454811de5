/*
 * file_result.c
 *		The results of files in shared memory, which workers write and the
 *		leader reads.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/shared_memory.h"
#include "process/file_result.h"

#define ANY_SERVER (-1)

FileResults *
file_results_new(int n_files, int n_objects, int n_lists, int n_workers,
				 pg_checksum_type checksum_type)
{
	FileResults *results = pg_malloc0(sizeof(FileResults));

	results->n_files = n_files;
	results->files = shared_memory_new(n_files, sizeof(FileResult));

	/*
	 * Only the leader sets pointers, before it forks.  What workers write
	 * must be in shared memory; lists and toc are written by the leader
	 * alone.
	 */
	results->shares = pg_malloc0((n_files + 1) * sizeof(FileResult *));
	results->n_objects = n_objects;
	results->objects = shared_memory_new(n_objects, sizeof(FileResult));
	results->n_lists = n_lists;
	results->lists = pg_malloc0((n_lists + 1) * sizeof(FileResult));
	results->toc = pg_malloc0(sizeof(FileResult));
	results->checksum_type = checksum_type;
	results->n_workers = n_workers;
	results->workers = shared_memory_new(n_workers, sizeof(WorkerProgress));
	for (int i = 0; i < n_workers; i++)
		results->workers[i].job = -1;
	return results;
}

/*
 * The number may have belonged to a process that was lost within a file,
 * whose counts are removed.
 */
void
file_results_begin_worker(FileResults *results, int worker)
{
	results->worker = worker;
	file_results_begin_job(results, -1);
	file_results_progress(results)->idle_us = 0;
}

void
file_results_begin_job(FileResults *results, int job)
{
	WorkerProgress *progress = file_results_progress(results);

	/*
	 * Counts are of the file that is being made.  They go back to 0 here, so
	 * that those of a file that is done, or was given up, are not counted
	 * twice by file_results_total().
	 */
	progress->idle_us = clock_wall_us();
	progress->job = job;
	progress->rows = 0;
	progress->raw_bytes = 0;
	progress->stored_bytes = 0;
}

const FileResult *
file_results_shares(const FileResults *results, int no)
{
	return results->is_shared == NULL || results->is_shared[no] ?
		results->shares[no] : NULL;
}

void
file_result_set(const FileResults *results, FileResult *result, int64 start_us,
				uint64 rows, uint64 raw_bytes, uint64 sent_bytes)
{
	result->rows = rows;
	result->raw_bytes = raw_bytes;
	result->stored_bytes = sent_bytes;
	result->start_us = start_us;
	result->end_us = clock_wall_us();
	result->worker = results->worker;
	result->server = results->server;
}

/* Add a part; several processes may do this at the same time. */
static void
add_part(FileResult *result, int64 start_us, uint64 rows, uint64 bytes)
{
	/*
	 * The part that is added first decides when the file was begun.  All the
	 * numbers are added by one instruction each, since processes add parts at
	 * the same time and there is no lock.
	 */
	(void) __sync_bool_compare_and_swap(&result->start_us, 0, start_us);
	(void) __sync_fetch_and_add(&result->rows, rows);
	(void) __sync_fetch_and_add(&result->raw_bytes, bytes);
	(void) __sync_fetch_and_add(&result->stored_bytes, bytes);
	result->end_us = clock_wall_us();
}

void
file_result_add(const FileResults *results, FileResult *result, int64 start_us,
				uint64 rows, uint64 bytes)
{
	FileResult *share =
		&results->shares[result - results->files][results->worker];

	share->worker = result->worker = results->worker;
	add_part(share, start_us, rows, bytes);
	add_part(result, start_us, rows, bytes);
}

WorkerProgress *
file_results_progress(FileResults *results)
{
	Assert(results->worker < results->n_workers);
	return &results->workers[results->worker];
}

/* Add the finished results of one server, or of all. */
static void
add_done(FileTotals *total, const FileResult *results, int n, int server)
{
	for (int i = 0; i < n; i++)
	{
		if (!results[i].done ||
			(server != ANY_SERVER && results[i].server != server))
			continue;
		total->rows += results[i].rows;
		total->raw_bytes += results[i].raw_bytes;
		total->stored_bytes += results[i].stored_bytes;
		total->n_done++;
	}
}

FileTotals
file_results_of_server(const FileResults *results, int server)
{
	FileTotals	total = {0};

	add_done(&total, results->files, results->n_files, server);
	add_done(&total, results->objects, results->n_objects, server);
	return total;
}

FileTotals
file_results_total(const FileResults *results)
{
	FileTotals	total = file_results_of_server(results, ANY_SERVER);

	for (int i = 0; i < results->n_workers; i++)
	{
		total.rows += results->workers[i].rows;
		total.raw_bytes += results->workers[i].raw_bytes;
		total.stored_bytes += results->workers[i].stored_bytes;
	}
	return total;
}

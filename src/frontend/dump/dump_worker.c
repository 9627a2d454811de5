/*
 * dump_worker.c
 *		The workers of a dump: each does one job after another in a session of
 *		its own.
 *
 * A worker reads in the leader's snapshot, which its session has imported
 * (source/worker_session.c), and writes each data file and each large object
 * to a file of its own.  No file is written by two workers, so they need no
 * locks.  Sizes, checksums and row counts are stored in the file's result in
 * shared memory, from which the leader makes the manifest.
 *
 * A worker that loses its connection ends.  Its replacement removes the files
 * that the job has written so far, and writes all of them again.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "base/buffer.h"
#include "dump/dump_worker.h"
#include "source/read_rows.h"
#include "source/worker_session.h"

/* ----------
 * Large objects and their lists as files of an archive.
 * ----------
 */

/*
 * Write each object of a group to a file, and set its result.  Exits with a
 * message on failure.
 */
static void
large_object_files_write(PGconn *conn, const LargeObjectGroup *group,
						 const ArchiveDir *archive, const CompressSpec *compress,
						 FileResults *results)
{
	LargeObjectReader reader = {.conn = conn,.group = group};
	FileResult *result = &results->objects[group->first_object];

	for (int i = 0; i < group->n_oids; i++)
	{
		char	   *name = archive_name_large_object(group->oids[i],
													 compress->method);
		ArchiveFile *out =
			archive_file_begin(results, result++,
							   archive_dir_new_file(archive, name), compress);

		read_large_object(&reader, i, archive_file_sink(out));
		archive_file_complete(out, 0);
		free(name);
	}
}

/*
 * Write blobs_NNN.toc, where pg_restore looks up the files of large objects.
 * The leader does this after all objects were written.
 */
void
large_object_lists_write(const LargeObjects *objects, const ArchiveDir *archive,
						 FileResults *results)
{
	for (int i = 0; i < objects->n_lists; i++)
	{
		const LargeObjectList *list = &objects->lists[i];
		ArchiveFile *out =
			archive_file_begin(results, &results->lists[i],
							   archive_dir_new_file(archive, list->filename), NULL);
		PQExpBufferData lines = buffer_new();

		for (int j = 0; j < list->n_oids; j++)
		{
			char	   *line = archive_name_list_line(list->oids[j]);

			appendPQExpBufferStr(&lines, line);
			free(line);
		}
		sink_write_buffer(archive_file_sink(out), &lines);
		archive_file_complete(out, 0);
		termPQExpBuffer(&lines);
	}
}

/* ----------
 * The worker and its jobs.
 * ----------
 */

struct DumpWorker
{
	const Run  *run;
	WorkerSession *session;
	Reuse	   *reuse;			/* NULL = no file is reused */
	bool		takes_fingerprints;
};

/*
 * Called in a new worker's process.  no is its number, or WORKER_IS_LEADER.
 */
static void
dump_worker_start(void *arg, int no)
{
	DumpPool   *pool = arg;
	const Run  *run = &pool->run;
	const FingerprintSpec *fingerprints = run->plan->fingerprints;
	DumpWorker *worker = pg_malloc0(sizeof(DumpWorker));

	pool->worker = worker;
	worker->run = run;
	worker->session = worker_session_open(&pool->source, run, no);
	worker->takes_fingerprints = fingerprints &&
		fingerprint_reads(worker_session_conn(worker->session), fingerprints);
	if (fingerprints && !worker->takes_fingerprints)
	{
		pg_log_warning("worker %d cannot detect unchanged rows, and dumps all rows of its jobs",
					   no);
		pg_log_warning_detail("The settings of its session differ from those of the session that began the dump.");
		pg_log_warning_hint("Do not change settings of the role or the database during a dump.");
	}
	else
		worker->reuse = pool->reuse;
}

/* Returns the name of a file of rows in the archive; the caller owns it. */
static char *
data_file_name(const Run *run, const DataFile *file)
{
	return archive_name_rows(file->dump_id, run->plan->compress.method);
}

/*
 * Write the rows and the line that ends COPY data.  If the server has
 * compressed the rows, that line is compressed here, as a second stream after
 * the first: readers of gzip, lz4 and zstd, including pg_restore, read
 * concatenated streams as one.
 */
static void
write_rows(DumpWorker *worker, const DataFile *file, const char *name,
		   bool by_extension)
{
	const Run  *run = worker->run;
	const DumpPlan *plan = run->plan;
	FileResult *result = run_file_result(run, file);
	Sink	   *sink = archive_dir_new_file(run->archive, name);
	ArchiveFile *out;
	uint64		rows;
	uint64		raw_bytes;
	static const FileHash none;

	if (by_extension && plan->server_compress != NULL)
	{
		out = archive_file_begin_compressed(run->results, result, sink,
											&plan->compress);
		rows = worker_session_read_compressed(worker->session, file,
											  archive_file_sink(out),
											  &raw_bytes);
		archive_file_compress_rest(out, raw_bytes);
	}
	else
	{
		out = archive_file_begin(run->results, result, sink, &plan->compress);
		rows = worker_session_read_text(worker->session, file,
										archive_file_sink(out));
	}
	sink_write(archive_file_sink(out), ARCHIVE_END_OF_ROWS,
			   strlen(ARCHIVE_END_OF_ROWS));

	/*
	 * The extension has computed the fingerprint while it read the rows, and
	 * keeps it until the next read of the session.  Rows that SQL has read
	 * have none, and are dumped again the next time.
	 */
	result->reused = NULL;
	result->fingerprint = result->first_fingerprint = result->definition = none;
	if (worker->takes_fingerprints && by_extension)
		fingerprint_last_read(worker_session_conn(worker->session), result);
	archive_file_complete(out, rows);
}

/*
 * Try to reuse a file of the previous archive.  Returns NULL on success, or
 * the reason why the rows must be dumped.
 */
static const char *
try_reuse(DumpWorker *worker, const DataFile *file, const char *what)
{
	const char *why = reuse_file(worker->reuse,
								 worker_session_conn(worker->session),
								 worker->run, file);

	if (why == NULL)
		pg_log_info("reusing contents of %s from the previous archive", what);
	else if (worker->run->plan->chunks->tables[file->table].new_reason == NULL)
		pg_log_info("not reusing contents of %s from the previous archive (reason: %s)",
					what, why);
	return why;
}

static void
dump_data_file(DumpWorker *worker, const DataFile *file)
{
	const Run  *run = worker->run;
	const char *sql_reason = run->plan->chunks->tables[file->table].sql_reason;
	char	   *what = data_file_describe(file, run->plan->tables);
	char	   *name = data_file_name(run, file);
	const char *new_reason = NULL;

	run_event_chunk_start(run, file, NULL, NULL);
	if (worker->reuse)
		new_reason = try_reuse(worker, file, what);
	run_file_result(run, file)->new_reason = new_reason;
	if (worker->reuse == NULL || new_reason)
	{
		if (sql_reason == NULL)
			pg_log_info("dumping contents of %s with the extension", what);
		else
			pg_log_info("dumping contents of %s with COPY (reason: %s)",
						what, sql_reason);
		write_rows(worker, file, name, sql_reason == NULL);
	}
	run_event_chunk_end(run, file, new_reason);
	free(what);
	free(name);
}

static void
dump_job(DumpWorker *worker, const Job *job, volatile int *step)
{
	const Run  *run = worker->run;
	const DumpPlan *plan = run->plan;
	const LargeObjectGroup *group;

	switch (job->kind)
	{
		case JOB_DATA_FILES:
			for (int i = 0; i < job->n; i++)
			{
				*step = i;
				dump_data_file(worker, plan->queue->files[job->first + i]);
			}
			break;
		case JOB_LARGE_OBJECTS:
			group = &plan->objects->groups[job->first];
			pg_log_info(ngettext("dumping %d large object", "dumping %d large objects",
								 group->n_oids), group->n_oids);
			run_event_objects(run, "objects_start", group);
			large_object_files_write(worker_session_conn(worker->session),
									 group, run->archive,
									 &plan->compress, run->results);
			run_event_objects(run, "objects_end", group);
			break;
	}
}

/* Returns the queue's number of a job of the pool. */
static int
job_of(const DumpPool *pool, int no)
{
	return pool->jobs ? pool->jobs[no] : no;
}

bool
dump_worker_run_job(void *arg, int no, volatile int *step)
{
	DumpPool   *pool = arg;
	DumpWorker *worker = pool->worker;
	const Run  *run = worker->run;
	int			job_no = job_of(pool, no);
	const Job  *job = &run->plan->queue->jobs[job_no];
	bool		begun = worker_session_begin_job(worker->session, job);

	if (begun)
	{
		file_results_begin_job(run->results, job_no);
		dump_job(worker, job, step);
		file_results_begin_job(run->results, -1);
	}
	worker_session_end_job(worker->session);
	return begun;
}

char *
dump_worker_file_name(const Run *run, const Job *job, int i)
{
	const DumpPlan *plan = run->plan;
	const LargeObjectGroup *group;

	if (job->kind == JOB_DATA_FILES)
		return i == job->n ? NULL :
			data_file_name(run, plan->queue->files[job->first + i]);
	group = &plan->objects->groups[job->first];
	return i == group->n_oids ? NULL :
		archive_name_large_object(group->oids[i], plan->compress.method);
}

/*
 * Remove the files that a lost worker has written for a job.  The leader does
 * this before another worker begins the job, so that no reader finds a
 * partial file.
 */
void
dump_worker_reset(const Run *run, int job_no)
{
	const Job  *job = &run->plan->queue->jobs[job_no];
	char	   *name;

	for (int i = 0; (name = dump_worker_file_name(run, job, i)) != NULL; i++)
	{
		archive_dir_remove_file(run->archive, name);
		run_job_result(run, job, i)->done = false;
		free(name);
	}
}

static void
dump_worker_stop(void *arg)
{
	DumpPool   *pool = arg;

	worker_session_close(pool->worker->session);
	free(pool->worker);
}

static char *
dump_worker_describe_job(void *arg, int no, int step)
{
	DumpPool   *pool = arg;

	return dump_plan_describe_job(pool->run.plan, job_of(pool, no), step);
}

/*
 * The pool replaces workers that were killed, unless the rows go to the
 * command of --pipe: a killed worker leaves its command running, which may
 * still store a part of a file while the replacement stores the whole file
 * under the same name.
 */
WorkerTask
dump_worker_task(DumpPool *pool)
{
	WorkerTask	task = {
		.arg = pool,
		.job_detail = "The worker was dumping %s.",
		.max_retries = (int) pool->run.options->retries,
		.outlives_kill = pool->run.options->pipe_command == NULL,
		.start = dump_worker_start,
		.run = dump_worker_run_job,
		.stop = dump_worker_stop,
		.describe = dump_worker_describe_job,
	};

	return task;
}

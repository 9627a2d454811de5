/*
 * copy_worker.c
 *		Streams rows from one server into another.
 *
 * A worker has two connections: COPY ...  TO STDOUT (or the extension's
 * reader) on the source, and COPY ...  FROM STDIN (or the extension's loader)
 * on the target.  Nothing is parsed or stored on the way, so the memory that
 * a worker needs does not depend on the rows.
 *
 * A job is one transaction on the target: a chunk of a large table, or a
 * batch of small tables.  If either connection is lost the process ends, and
 * a new process repeats the job.  Before that it asks the target whether the
 * COMMIT of the lost session was done, because the answer to it may be all
 * that was lost.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "copy/copy_worker.h"
#include "load/sink_target.h"
#include "load/target_check.h"
#include "source/read_rows.h"
#include "source/worker_session.h"

struct CopyWorker
{
	const CopyWork *work;
	const Run  *run;
	WorkerSession *session;
	PGconn	   *target_conn;
};

/*
 * Called in a new worker's process.  no is its number, or WORKER_IS_LEADER.
 */
static void
copy_worker_start(void *arg, int no)
{
	CopyWork   *work = arg;
	CopyWorker *worker = pg_malloc0(sizeof(CopyWorker));

	work->worker = worker;
	worker->work = work;
	worker->run = work->run;

	/*
	 * Close the inherited connection: it belongs to the leader, and must end
	 * with the leader.
	 */
	if (no != WORKER_IS_LEADER)
		close(PQsocket(work->target->conn));
	worker->target_conn = target_connect_loader(work->target);
	(void) target_history_expect(worker->target_conn, work->target->history);
	worker->session = worker_session_open(work->source, work->run, no);
}

/* ----------
 * Rows and large objects.
 * ----------
 */

/*
 * Did the target store as many rows as the source sent?  COPY's command tag
 * contains the number, so this check costs nothing.  It detects rows that a
 * trigger or a rule has dropped.
 */
static void
check_rows(const CopyWorker *worker, Oid table, const char *what, uint64 read,
		   uint64 written)
{
	if (written == read ||
		target_may_skip_rows(worker->target_conn, table, read, written))
		return;
	pg_log_error(ngettext("read " UINT64_FORMAT " row from %s, but the target stored " UINT64_FORMAT,
						  "read " UINT64_FORMAT " rows from %s, but the target stored " UINT64_FORMAT,
						  read), read, what, written);
	pg_log_error_detail("No trigger of the table explains the difference.");
	pg_fatal_hint("Run the same command again, into an empty database or with --clean, and use --compare.");
}

/* Log the format of a table, with -v. */
static void
report_format(const CopyFormat *format, const char *what, bool by_sql)
{
	const char *name = copy_format_name(format->kind);
	const char *reader = by_sql ? "COPY" : "pg_pardump_read()";

	if (format->reason)
		pg_log_info("copying %s: format %s (reason: %s), read with %s", what, name,
					printable(format->reason), reader);
	else
		pg_log_info("copying %s: format %s, read with %s", what, name, reader);
}

/*
 * Returns a sink that counts the bytes to the target for the progress: as
 * bytes on the network, and, unless they are compressed, also as bytes of
 * rows.
 */
static Sink *
count_bytes(const CopyWorker *worker, Sink *target, bool compressed)
{
	WorkerProgress *progress = file_results_progress(worker->run->results);
	Sink	   *sink = sink_tap_new(target, &progress->stored_bytes, NULL);

	return compressed ? sink : sink_tap_new(sink, &progress->raw_bytes, NULL);
}

/*
 * Read the rows of a file in the format of its table, as
 * copy_formats_decide() has decided.  *raw_bytes is set only if the rows are
 * compressed.
 */
static uint64
read_rows(CopyWorker *worker, const DataFile *file, Sink *sink,
		  uint64 *raw_bytes)
{
	const CopyFormats *formats = worker->work->formats;

	switch (formats->tables[file->table].kind)
	{
		case COPY_FORMAT_TEXT:
			return worker_session_read_text(worker->session, file, sink);
		case COPY_FORMAT_BINARY:
			return worker_session_read_binary(worker->session, file, sink);
		case COPY_FORMAT_RAW:
			return worker_session_read_raw(worker->session, file, sink,
										   formats->wire_compression, raw_bytes);
	}
	return 0;					/* not reached */
}

/*
 * Returns the sink for the rows of a file.  With wal_level = minimal,
 * TRUNCATE in the same transaction lets the server skip WAL for the rows.
 * For raw tuples, the transaction holds the extension until its end, so that
 * no other session can drop or replace the loading function between two
 * blocks.
 */
static Sink *
open_target_rows(CopyWorker *worker, const DataFile *file, Oid *later)
{
	const CopyFormats *formats = worker->work->formats;
	const CopyFormat *format = &formats->tables[file->table];
	const DumpPlan *plan = worker->run->plan;
	const DumpTable *table = &plan->tables->tables[file->table];
	PGconn	   *conn = worker->target_conn;

	if (format->truncate)
		sink_target_truncate(conn, table->name, format->target);
	if (format->kind != COPY_FORMAT_RAW)
		return sink_target_rows_new(conn, format->statement, format->target,
									later, NULL);
	server_extension_hold_too(conn, formats->loader, plan->lock_wait_ms);
	return sink_target_raw_new(conn, format->target, table->copy_name);
}

/*
 * Copy the rows of a file.  sink_target_rows_new() stores the table's OID in
 * *later, which is checked once for all files of the job.
 */
static void
copy_file(CopyWorker *worker, const DataFile *file, Oid *later)
{
	const Run  *run = worker->run;
	const DumpPlan *plan = run->plan;
	const CopyFormat *format = &worker->work->formats->tables[file->table];
	char	   *what = data_file_describe(file, plan->tables);
	int64		start_us = clock_wall_us();
	Sink	   *rows_sink;
	Sink	   *sink;
	uint64		rows;
	uint64		raw_bytes = 0;

	run_event_chunk_start(run, file, copy_format_name(format->kind),
						  format->reason);
	report_format(format, what,
				  plan->chunks->tables[file->table].sql_reason != NULL);
	rows_sink = open_target_rows(worker, file, later);
	sink = count_bytes(worker, rows_sink, format->kind == COPY_FORMAT_RAW);
	rows = read_rows(worker, file, sink, &raw_bytes);
	sink_finish(sink);
	check_rows(worker, format->target, what, rows, format->kind == COPY_FORMAT_RAW ?
			   sink_target_raw_taken(rows_sink) :
			   sink_target_rows_taken(rows_sink));
	file_result_set(run->results, run_file_result(run, file), start_us, rows,
					format->kind == COPY_FORMAT_RAW ? raw_bytes : sink->bytes_in,
					sink->bytes_in);
	run_event_chunk_end(run, file, NULL);
	sink_free(sink);
	free(what);
}

static void
copy_large_object(CopyWorker *worker, LargeObjectReader *reader, int no)
{
	FileResults *results = worker->run->results;
	int64		start_us = clock_wall_us();
	Sink	   *object = sink_target_object_new(worker->target_conn,
												reader->group->oids[no], NULL);
	Sink	   *sink = count_bytes(worker, object, false);

	read_large_object(reader, no, sink);
	sink_finish(sink);
	file_result_set(results, &results->objects[reader->group->first_object + no],
					start_us, 0, sink->bytes_in, sink->bytes_in);
	sink_free(sink);
}

/*
 * Copy only the contents: the objects were created, empty and with their
 * owners, when the definitions were restored.
 */
static void
copy_large_objects(CopyWorker *worker, const LargeObjectGroup *group)
{
	LargeObjectReader reader = {
		.conn = worker_session_conn(worker->session),
		.group = group
	};

	pg_log_info(ngettext("copying %d large object", "copying %d large objects",
						 group->n_oids), group->n_oids);
	run_event_objects(worker->run, "objects_start", group);
	for (int i = 0; i < group->n_oids; i++)
		copy_large_object(worker, &reader, i);
	run_event_objects(worker->run, "objects_end", group);
}

/* ----------
 * Jobs.
 * ----------
 */

/*
 * A COPY statement refers to its table by name, which may belong to another
 * table when the statement runs.  So after all files of the job, one query
 * checks that the locked tables are those of the plan, before anything is
 * committed.
 */
static void
copy_files(CopyWorker *worker, const Job *job, volatile int *step)
{
	const DumpPlan *plan = worker->run->plan;
	const DataFile **files = &plan->queue->files[job->first];
	Oid		   *later = sink_target_later(plan, job);
	int			wrong = -1;

	for (int i = 0; i < job->n; i++)
	{
		*step = i;
		if (!OidIsValid(worker->work->formats->tables[files[i]->table].target))
			continue;
		copy_file(worker, files[i], later ? &later[i] : NULL);
	}
	if (later)
		wrong = sink_target_look(worker->target_conn, plan, job, later);
	if (wrong >= 0)
	{
		*step = wrong;			/* for the error message */
		sink_target_refuse(worker->work->formats->tables[files[wrong]->table].statement);
	}
	free(later);
}

/* Do a job, in a transaction that the caller commits. */
static void
copy_job(CopyWorker *worker, int job_no, volatile int *step)
{
	const DumpPlan *plan = worker->run->plan;
	const Job  *job = &plan->queue->jobs[job_no];

	target_begin_load(worker->work->target, worker->target_conn);
	switch (job->kind)
	{
		case JOB_DATA_FILES:
			copy_files(worker, job, step);
			break;
		case JOB_LARGE_OBJECTS:
			copy_large_objects(worker, &plan->objects->groups[job->first]);
			break;
	}
}

/*
 * Returns false if a lock on the source could not be acquired in time.
 * Another worker, or the leader, does the job later.
 */
static bool
copy_worker_run_job(void *arg, int job_no, volatile int *step)
{
	const CopyWork *work = arg;
	CopyWorker *worker = work->worker;
	const Run  *run = work->run;
	const Job  *job = &run->plan->queue->jobs[job_no];
	TargetCommit *end = &work->commits[job_no];
	bool		done = target_commit_is_done(worker->target_conn, work->target,
											 end);

	if (!done && worker_session_begin_job(worker->session, job))
	{
		file_results_begin_job(run->results, job_no);
		copy_job(worker, job_no, step);
		target_commit(worker->target_conn, end);

		/*
		 * From now on, the job's bytes are counted in the results of its
		 * files.
		 */
		file_results_begin_job(run->results, -1);
		done = true;
	}
	if (done)
		run_job_is_done(run, job, NULL);
	worker_session_end_job(worker->session);
	return done;
}

static void
copy_worker_stop(void *arg)
{
	CopyWorker *worker = ((CopyWork *) arg)->worker;

	worker_session_close(worker->session);
	session_close(worker->target_conn);
	free(worker);
}

static char *
copy_worker_describe_job(void *arg, int job, int step)
{
	return dump_plan_describe_job(((CopyWork *) arg)->run->plan, job, step);
}

WorkerTask
copy_worker_task(CopyWork *work)
{
	WorkerTask	task = {
		.arg = work,
		.job_detail = "The worker was copying %s.",
		.max_retries = (int) work->run->options->retries,
		.outlives_kill = true,
		.has_slots = true,
		.start = copy_worker_start,
		.run = copy_worker_run_job,
		.stop = copy_worker_stop,
		.describe = copy_worker_describe_job,
	};

	return task;
}

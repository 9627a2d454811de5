/*
 * copy_worker.c
 *		Streams rows from one server into another.
 *
 * A worker has two connections, and a job is one transaction on the target: a
 * chunk, or a batch of small tables.  Nothing is parsed or kept on the way.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/units.h"
#include "copy/copy_worker.h"
#include "session/session_loss.h"
#include "source/read_large_object.h"
#include "source/worker_session.h"
#include "status/run_event.h"
#include "stream/sink_tap.h"
#include "target/sink_target.h"
#include "target/target.h"

/*
 * How long a transaction may be in progress whose session's client is gone:
 * longer than the server takes to notice (session.c).  And how often to look.
 */
#define IN_PROGRESS_MS 120000
#define IN_PROGRESS_LOOK_MS 100

struct CopyWorker
{
	const CopyContext *context;
	SourceSession *source;
	PGconn	   *target;
};

/* Connected to the target. */
static CopyWorker *
new_worker(const CopyContext *context)
{
	CopyWorker *worker = pg_malloc0(sizeof(CopyWorker));

	worker->context = context;
	worker->target = connection_open_peer(context->target, "pg_pardump");
	target_set_up(worker->target, context->source.options,
				  context->source.encoding);
	target_expect_history(worker->target, context->history);
	return worker;
}

CopyWorker *
copy_worker_start(const CopyContext *context, int no)
{
	CopyWorker *worker;

	file_results_begin_worker(context->source.results, no);
	worker = new_worker(context);
	worker->source = source_session_open(&context->source, no);
	return worker;
}

CopyWorker *
copy_worker_borrow(const CopyContext *context)
{
	CopyWorker *worker = new_worker(context);

	worker->source = source_session_borrow(&context->source);
	return worker;
}

/*
 * Unlike session_query() this is not watched: --stall-timeout is about the
 * source, and the target may take its time.
 */
static PGresult *
ask_target(CopyWorker *worker, const char *sql, int n_params,
		   const char *const *params)
{
	PGresult   *res = PQexecParams(worker->target, sql, n_params, NULL, params,
								   NULL, NULL, 0);

	if (PQresultStatus(res) != PGRES_COMMAND_OK &&
		PQresultStatus(res) != PGRES_TUPLES_OK)
		session_failed(worker->target, res, "query failed", sql);
	return res;
}

/* ----------
 * Rows and large objects
 * ----------
 */

/* All is known but whether it will be committed. */
static void
set_result(FileResults *results, FileResult *result, int64 start_us,
		   uint64 rows, uint64 bytes)
{
	result->rows = rows;
	result->raw_bytes = result->stored_bytes = bytes;
	result->start_us = start_us;
	result->end_us = clock_wall_us();
	result->worker = results->worker;
}

static void
check_rows(const CopyWorker *worker, const char *what, uint64 read,
		   uint64 written)
{
	if (read == written)
		return;
	pg_log_error("of " UINT64_FORMAT " row%s read from %s the target took " UINT64_FORMAT,
				 read, units_plural(read), what, written);
	if (worker->context->source.options->data_only)
		pg_log_error_hint("A trigger on the target may have left out rows; see --disable-triggers.");
	exit(1);
}

static void
truncate_table(CopyWorker *worker, const DumpTable *table)
{
	char	   *sql = psprintf("TRUNCATE TABLE ONLY %s", table->name);

	PQclear(ask_target(worker, sql, 0, NULL));
	free(sql);
}

static void
copy_file(CopyWorker *worker, const DataFile *file)
{
	const CopyContext *context = worker->context;
	const DumpContext *source = &context->source;
	const CopyFormat *format = &context->formats[file->table];
	bool		binary = format->text_reason == NULL;
	const char *reader = source->plan->tables[file->table].sql_reason ?
		"by SQL" : "by the extension";
	char	   *what = data_file_describe(file, source->tables);
	int64		start_us = clock_wall_us();
	Sink	   *target;
	Sink	   *sink;
	uint64		rows;

	run_event_chunk_start(source, file, binary ? "binary" : "text");
	if (binary)
		pg_log_info("copying %s in binary format, read %s", what, reader);
	else
		pg_log_info("copying %s as text, read %s: %s", what, reader,
					format->text_reason);
	if (format->truncate)
		truncate_table(worker, &source->tables->tables[file->table]);
	target = sink_target_rows_new(worker->target, format->statement);
	sink = sink_tap_new(target,
						&file_results_progress(source->results)->raw_bytes, NULL);
	rows = binary ? source_session_read_binary(worker->source, file, sink)
		: source_session_read_text(worker->source, file, sink);
	sink_finish(sink);
	check_rows(worker, what, rows, sink_target_rows_taken(target));
	set_result(source->results,
			   &source->results->files[file - source->plan->files], start_us,
			   rows, sink->bytes_in);
	run_event_chunk_end(source, file);
	sink_free(sink);
	free(what);
}

static void
copy_large_object(CopyWorker *worker, const PGresult *batch, int row, Oid oid,
				  FileResult *result)
{
	FileResults *results = worker->context->source.results;
	int64		start_us = clock_wall_us();
	Sink	   *sink = sink_tap_new(sink_target_object_new(worker->target, oid),
									&file_results_progress(results)->raw_bytes,
									NULL);

	read_large_object(source_session_connection(worker->source), batch, row,
					  oid, sink);
	sink_finish(sink);
	set_result(results, result, start_us, 0, sink->bytes_in);
	sink_free(sink);
}

/* Their contents; the objects are there, empty. */
static void
copy_large_objects(CopyWorker *worker, const LargeObjectGroup *group)
{
	const DumpContext *source = &worker->context->source;
	FileResult *result = &source->results->objects[group->first_object];

	pg_log_info("copying %d large objects", group->n_oids);
	run_event_objects(source, "objects_start", group);
	for (int first = 0; first < group->n_oids; first += LARGE_OBJECT_BATCH)
	{
		const Oid  *oids = group->oids + first;
		int			n_oids = Min(LARGE_OBJECT_BATCH, group->n_oids - first);
		PGresult   *batch =
			read_large_objects(source_session_connection(worker->source), oids,
							   n_oids);

		for (int i = 0; i < n_oids; i++)
			copy_large_object(worker, batch, i, oids[i], result++);
		PQclear(batch);
	}
	run_event_objects(source, "objects_end", group);
}

/* ----------
 * Transactions on the target
 * ----------
 */

static void
commit(CopyWorker *worker, CopyCommit *end)
{
	PGresult   *res = ask_target(worker, "SELECT pg_catalog.txid_current()",
								 0, NULL);

	end->xid = strtoull(PQgetvalue(res, 0, 0), NULL, 10);
	PQclear(res);
	end->state = COPY_STATE_COMMITTING;
	PQclear(ask_target(worker, "COMMIT", 0, NULL));
	end->state = COPY_STATE_DONE;
}

/*
 * A worker before us had this job, and was lost while it waited for the
 * answer to COMMIT.  Did it commit?  The transaction's own server knows,
 * unless it was restarted: a transaction of which nothing had reached the
 * disk is forgotten then, and its ID may be another's.
 */
static bool
was_committed(CopyWorker *worker, uint64 xid)
{
	char		text[32];
	const char *params[] = {text, worker->context->incarnation};
	char		status[32];

	snprintf(text, sizeof(text), UINT64_FORMAT, xid);
	for (int ms = 0; ms < IN_PROGRESS_MS; ms += IN_PROGRESS_LOOK_MS)
	{
		PGresult   *res = ask_target(worker,
									 "SELECT pg_catalog.txid_status($1::pg_catalog.int8),"
									 TARGET_INCARNATION_SQL " OPERATOR(pg_catalog.=) $2",
									 2, params);
		bool		same_server = PQgetvalue(res, 0, 1)[0] == 't';

		strlcpy(status, PQgetvalue(res, 0, 0), sizeof(status));
		PQclear(res);
		if (!same_server)
			pg_fatal("the target was restarted during a COMMIT, and does not know whether it was done");
		if (strcmp(status, "in progress") != 0)
			break;
		/* its session has not seen yet that we are gone */
		pg_usleep(IN_PROGRESS_LOOK_MS * 1000L);
	}
	if (strcmp(status, "committed") != 0 && strcmp(status, "aborted") != 0)
		pg_fatal("the target does not know whether transaction " UINT64_FORMAT " was committed: \"%s\"",
				 xid, status);
	return status[0] == 'c';
}

/* Is there nothing left to do of a job that another worker began? */
static bool
is_done_already(CopyWorker *worker, CopyCommit *end)
{
	if (end->state == COPY_STATE_COMMITTING)
		end->state = was_committed(worker, end->xid) ?
			COPY_STATE_DONE : COPY_STATE_PENDING;
	return end->state == COPY_STATE_DONE;
}

/* ----------
 * Jobs
 * ----------
 */
static void
copy_job(CopyWorker *worker, const Job *job, volatile int *step)
{
	const DumpContext *source = &worker->context->source;

	PQclear(ask_target(worker, "BEGIN", 0, NULL));
	switch (job->kind)
	{
		case JOB_DATA_FILES:
			for (int i = 0; i < job->n; i++)
			{
				*step = i;
				copy_file(worker, source->queue->files[job->first + i]);
			}
			break;
		case JOB_LARGE_OBJECTS:
			copy_large_objects(worker, &source->objects->groups[job->first]);
			break;
	}
}

/* Committed; see target_expect_history() and check_unlogged(). */
static void
note_done(const DumpContext *source, const Job *job)
{
	const LargeObjectGroup *group;

	__sync_synchronize();
	switch (job->kind)
	{
		case JOB_DATA_FILES:
			for (int i = 0; i < job->n; i++)
			{
				const DataFile *file = source->queue->files[job->first + i];

				source->results->files[file - source->plan->files].done = true;
			}
			break;
		case JOB_LARGE_OBJECTS:
			group = &source->objects->groups[job->first];
			for (int i = 0; i < group->n_oids; i++)
				source->results->objects[group->first_object + i].done = true;
			break;
	}
}

bool
copy_worker_has_loaded(const void *arg, int table_no)
{
	const DumpContext *source = &((const CopyContext *) arg)->source;
	const TablePlan *table = &source->plan->tables[table_no];

	for (int i = 0; i < table->n_files; i++)
		if (!source->results->files[table->first_file + i].done)
			return false;
	return true;
}

bool
copy_worker_run(CopyWorker *worker, int job_no, volatile int *step)
{
	const CopyContext *context = worker->context;
	const Job  *job = &context->source.queue->jobs[job_no];
	CopyCommit *end = &context->commits[job_no];
	bool		done = is_done_already(worker, end);

	if (!done && source_session_begin_job(worker->source, job))
	{
		file_results_begin_job(context->source.results, job_no);
		copy_job(worker, job, step);
		commit(worker, end);
		/* the job's bytes now count as those of its files */
		file_results_begin_job(context->source.results, -1);
		done = true;
	}
	if (done)
		note_done(&context->source, job);
	source_session_end_job(worker->source);
	return done;
}

void
copy_worker_stop(CopyWorker *worker)
{
	source_session_close(worker->source);
	PQfinish(worker->target);
	free(worker);
}

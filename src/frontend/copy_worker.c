/*
 * copy_worker.c
 *		Streams rows from one server into another.
 *
 * A worker has two connections, and a job is one transaction on the target: a
 * chunk, or a batch of small tables.  Nothing is parsed or kept on the way.
 */
#include "fe_compat.h"

#include "cleanup.h"
#include "copy_sink.h"
#include "copy_target.h"
#include "copy_worker.h"
#include "source_session.h"

/*
 * How long a transaction may be in progress whose session's client is gone,
 * and how often to look.
 */
#define IN_PROGRESS_MS 60000
#define IN_PROGRESS_LOOK_MS 100

struct CopyWorker
{
	const CopyContext *context;
	SourceSession *source;
	PGconn	   *target;
};

CopyWorker *
copy_worker_start(const CopyContext *context, int no)
{
	CopyWorker *worker = pg_malloc0(sizeof(CopyWorker));

	file_results_begin_worker(context->source.results, no);
	worker->context = context;
	worker->target = connection_open_peer(context->target, "pg_pardump");
	copy_target_set_up(worker->target, context->source.options,
					   context->source.encoding);
	worker->source = source_session_open(&context->source, no);
	return worker;
}

static void
copy_file(CopyWorker *worker, const DataFile *file)
{
	const CopyContext *context = worker->context;
	const DumpContext *source = &context->source;
	const CopyFormat *format = &context->formats[file->table];
	CopyProgress *progress = &context->files[file - source->plan->files];
	char	   *what = data_file_describe(file, source->tables);
	Sink	   *sink;

	if (format->text_reason == NULL)
		pg_log_info("copying %s in binary format", what);
	else
		pg_log_info("copying %s as text, read %s: %s", what,
					source->plan->tables[file->table].sql_reason ?
					"by SQL" : "by the extension", format->text_reason);
	sink = sink_copy_in_new(worker->target, format->statement);
	if (format->text_reason == NULL)
		progress->rows = source_session_read_binary(worker->source, file, sink);
	else
		progress->rows = source_session_read_text(worker->source, file, sink);
	sink_finish(sink);
	progress->bytes = sink->bytes_in;
	if (sink_copy_in_rows(sink) != progress->rows)
	{
		pg_log_error("of " UINT64_FORMAT " rows read from %s the target took " UINT64_FORMAT,
					 progress->rows, what, sink_copy_in_rows(sink));
		if (source->options->data_only)
			pg_log_error_hint("A trigger on the target may have left out rows; see --disable-triggers.");
		exit(1);
	}
	sink_free(sink);
	free(what);
}

/* Their contents; the objects are there, empty. */
static void
copy_large_objects(CopyWorker *worker, const LargeObjectGroup *group,
				   CopyProgress *progress)
{
	PGconn	   *source = source_session_connection(worker->source);

	progress->bytes = 0;
	for (int first = 0; first < group->n_oids; first += LARGE_OBJECT_BATCH)
	{
		const Oid  *oids = group->oids + first;
		int			n_oids = Min(LARGE_OBJECT_BATCH, group->n_oids - first);
		PGresult   *res = large_objects_read_first(source, oids, n_oids);

		for (int i = 0; i < n_oids; i++)
		{
			Sink	   *sink = sink_large_object_new(worker->target, oids[i]);

			sink_write(sink, PQgetvalue(res, i, 0), PQgetlength(res, i, 0));
			if (PQgetlength(res, i, 0) == LARGE_OBJECT_PIECE)
				large_object_read_rest(source, oids[i], sink);
			sink_finish(sink);
			progress->bytes += sink->bytes_in;
			sink_free(sink);
		}
		PQclear(res);
	}
}

static void
commit(CopyWorker *worker, CopyProgress **parts, int n_parts)
{
	PGresult   *res = session_query(worker->target,
									"SELECT pg_catalog.txid_current()");
	uint64		xid = strtoull(PQgetvalue(res, 0, 0), NULL, 10);

	PQclear(res);
	for (int i = 0; i < n_parts; i++)
	{
		parts[i]->xid = xid;
		parts[i]->state = COPY_STATE_COMMITTING;
	}
	session_command(worker->target, "COMMIT");
	for (int i = 0; i < n_parts; i++)
		parts[i]->state = COPY_STATE_DONE;
}

/*
 * A worker before us had this job, and was lost while it waited for the answer
 * to COMMIT.  Did it commit?  The transaction's own server knows, unless it was
 * restarted: a transaction of which nothing had reached the disk is forgotten
 * then, and its ID may be another's.
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
		PGresult   *res = session_query_params(worker->target,
											   "SELECT pg_catalog.txid_status($1::pg_catalog.int8),"
											   COPY_INCARNATION_SQL " OPERATOR(pg_catalog.=) $2",
											   2, params, 0);
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
is_done_already(CopyWorker *worker, CopyProgress **parts, int n_parts)
{
	bool		done = parts[0]->state == COPY_STATE_DONE;

	if (parts[0]->state == COPY_STATE_COMMITTING)
		done = was_committed(worker, parts[0]->xid);
	for (int i = 0; i < n_parts; i++)
		parts[i]->state = done ? COPY_STATE_DONE : COPY_STATE_PENDING;
	return done;
}

/* What of the shared memory is about this job; the caller frees it. */
static CopyProgress **
parts_of_job(const CopyContext *context, const Job *job)
{
	CopyProgress **parts = pg_malloc(job->n * sizeof(CopyProgress *));

	for (int i = 0; i < job->n; i++)
	{
		if (job->kind == JOB_LARGE_OBJECTS)
			parts[i] = &context->objects[job->first];
		else
			parts[i] = &context->files[context->source.queue->files[job->first + i] -
									   context->source.plan->files];
	}
	return parts;
}

void
copy_worker_run(CopyWorker *worker, int job_no, volatile int *step)
{
	const CopyContext *context = worker->context;
	const Job  *job = &context->source.queue->jobs[job_no];
	CopyProgress **parts = parts_of_job(context, job);

	file_results_begin_job(context->source.results, job_no);
	if (is_done_already(worker, parts, job->n))
	{
		free(parts);
		return;
	}
	session_command(worker->target, "BEGIN");
	switch (job->kind)
	{
		case JOB_DATA_FILES:
			source_session_lock(worker->source, job);
			for (int i = 0; i < job->n; i++)
			{
				*step = i;
				copy_file(worker, context->source.queue->files[job->first + i]);
			}
			break;
		case JOB_LARGE_OBJECTS:
			pg_log_info("copying %d large objects",
						context->source.objects->groups[job->first].n_oids);
			copy_large_objects(worker,
							   &context->source.objects->groups[job->first],
							   parts[0]);
			break;
	}
	commit(worker, parts, job->n);
	file_results_begin_job(context->source.results, -1);
	free(parts);
}

void
copy_worker_stop(CopyWorker *worker)
{
	source_session_close(worker->source);
	PQfinish(worker->target);
	free(worker);
}

/*
 * dump_worker.c
 *		Does one job after the other in a session of its own.
 */
#include "base/fe_compat.h"

#include "archive/archive_file.h"
#include "archive/archive_name.h"
#include "dump/dump_worker.h"
#include "dump/large_object_file.h"
#include "source/read_copy.h"
#include "source/worker_session.h"
#include "status/run_event.h"

struct DumpWorker
{
	const DumpContext *context;
	SourceSession *source;
};

DumpWorker *
dump_worker_start(const DumpContext *context, int no)
{
	DumpWorker *worker = pg_malloc0(sizeof(DumpWorker));

	worker->context = context;
	file_results_begin_worker(context->results, no);
	worker->source = source_session_open(context, no);
	return worker;
}

DumpWorker *
dump_worker_borrow(const DumpContext *context)
{
	DumpWorker *worker = pg_malloc0(sizeof(DumpWorker));

	worker->context = context;
	worker->source = source_session_borrow(context);
	return worker;
}

/* Owned. */
static char *
data_file_name(const DumpContext *context, const DataFile *file)
{
	return archive_name_rows(file->dump_id, context->compress.method);
}

static FileResult *
data_file_result(const DumpContext *context, const DataFile *file)
{
	return &context->results->files[file - context->plan->files];
}

/*
 * What ends the data follows rows that the server compressed as a compressed
 * stream of its own, which readers take for one with the first.
 */
static void
dump_data_file(DumpWorker *worker, const DataFile *file)
{
	const DumpContext *context = worker->context;
	FileResult *result = data_file_result(context, file);
	const char *reason = context->plan->tables[file->table].sql_reason;
	char	   *what = data_file_describe(file, context->tables);
	char	   *name = data_file_name(context, file);
	Sink	   *sink;
	ArchiveFile *out;
	uint64		rows;
	uint64		raw_bytes;

	run_event_chunk_start(context, file, NULL);
	if (reason == NULL)
		pg_log_info("dumping contents of %s by the extension", what);
	else
		pg_log_info("dumping contents of %s by SQL: %s", what, reason);
	sink = archive_dir_new_file(context->archive, name);
	if (reason == NULL && context->compression != NULL)
	{
		out = archive_file_begin_compressed(context->results, result, sink,
											&context->compress);
		rows = source_session_read_compressed(worker->source, file,
											  archive_file_sink(out),
											  &raw_bytes);
		archive_file_compress_rest(out, raw_bytes);
	}
	else
	{
		out = archive_file_begin(context->results, result, sink,
								 &context->compress);
		rows = source_session_read_text(worker->source, file,
										archive_file_sink(out));
	}
	sink_write(archive_file_sink(out), COPY_END_OF_DATA,
			   strlen(COPY_END_OF_DATA));
	archive_file_complete(out, rows);
	run_event_chunk_end(context, file);
	free(what);
	free(name);
}

static void
dump_job(DumpWorker *worker, const Job *job, volatile int *step)
{
	const DumpContext *context = worker->context;
	const LargeObjectGroup *group;

	switch (job->kind)
	{
		case JOB_DATA_FILES:
			for (int i = 0; i < job->n; i++)
			{
				*step = i;
				dump_data_file(worker, context->queue->files[job->first + i]);
			}
			break;
		case JOB_LARGE_OBJECTS:
			group = &context->objects->groups[job->first];
			pg_log_info("dumping %d large objects", group->n_oids);
			run_event_objects(context, "objects_start", group);
			large_object_files_write(source_session_connection(worker->source),
									 group, context->archive,
									 &context->compress, context->results);
			run_event_objects(context, "objects_end", group);
			break;
	}
}

bool
dump_worker_run(DumpWorker *worker, int job_no, volatile int *step)
{
	const DumpContext *context = worker->context;
	const Job  *job = &context->queue->jobs[job_no];
	bool		begun = source_session_begin_job(worker->source, job);

	if (begun)
	{
		file_results_begin_job(context->results, job_no);
		dump_job(worker, job, step);
		file_results_begin_job(context->results, -1);
	}
	source_session_end_job(worker->source);
	return begun;
}

/* Frees the name. */
static void
remove_file(const DumpContext *context, char *name, FileResult *result)
{
	archive_dir_remove_file(context->archive, name);
	result->done = false;
	free(name);
}

void
dump_worker_reset(const DumpContext *context, int job_no)
{
	const Job  *job = &context->queue->jobs[job_no];
	const LargeObjectGroup *group;

	switch (job->kind)
	{
		case JOB_DATA_FILES:
			for (int i = 0; i < job->n; i++)
			{
				const DataFile *file = context->queue->files[job->first + i];

				remove_file(context, data_file_name(context, file),
							data_file_result(context, file));
			}
			break;
		case JOB_LARGE_OBJECTS:
			group = &context->objects->groups[job->first];
			for (int i = 0; i < group->n_oids; i++)
				remove_file(context,
							archive_name_large_object(group->oids[i],
													  context->compress.method),
							&context->results->objects[group->first_object + i]);
			break;
	}
}

void
dump_worker_stop(DumpWorker *worker)
{
	source_session_close(worker->source);
	free(worker);
}
